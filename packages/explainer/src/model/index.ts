/** The model: stories, their versions, and runs of them. It has no screen. */

export { check } from './check.ts';
export {
  FAULT_KINDS,
  faultAt,
  FAULTS_MAX,
  faultsOf,
  faultsText,
  machineOf,
} from './placed-faults.ts';
export { play } from './play.ts';
export { seconds } from './http-lines.ts';
export type { Knob, KnobValues, Scenario, Task, Variant } from './story.ts';
export { SCENARIOS } from './scenarios/index.ts';
export type {
  Fault,
  FaultKind,
  Field,
  LaneId,
  Mark,
  Message,
  Row,
  RowState,
  Step,
  Tone,
  Trace,
} from './trace.ts';
