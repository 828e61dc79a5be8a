export { AUDIT_ACTS, type AuditAct, type AuditRequest, type AuditRow } from '../core/audit.ts';
export type { MessageStore as MessageQueue, StoredMessage } from '../core/message.ts';
export { FORMAT_VERSION } from '../core/record.ts';
export { callerOf } from '../core/scope.ts';
export type { Act, ActResult, RefusedBecause, Reopening, Settlement } from './acts.ts';
export type { StepView, WholeRecord } from './look.ts';
export type { NoEffectBecause } from './no-effect.ts';
export { createOperator, type Operator, type OperatorListRequest, type OperatorOptions } from './operator.ts';
