/** Registers the elements of the page. */

import { ActElement } from './act-element.ts';
import { AuditElement } from './audit-element.ts';
import { BulkElement } from './bulk-element.ts';
import { BulkFormElement } from './bulk-form-element.ts';
import { ConsoleElement } from './console-element.ts';
import { LettersElement } from './letters-element.ts';
import { MintedElement } from './minted-element.ts';
import { OverviewElement } from './overview-element.ts';
import { RecordElement } from './record-element.ts';
import { RecordsElement } from './records-element.ts';
import { TimelineElement } from './timeline-element.ts';

customElements.define('samekey-act', ActElement);
customElements.define('samekey-overview', OverviewElement);
customElements.define('samekey-records', RecordsElement);
customElements.define('samekey-record', RecordElement);
customElements.define('samekey-minted', MintedElement);
customElements.define('samekey-timeline', TimelineElement);
customElements.define('samekey-letters', LettersElement);
customElements.define('samekey-bulk', BulkElement);
customElements.define('samekey-bulk-form', BulkFormElement);
customElements.define('samekey-audit', AuditElement);
customElements.define('samekey-console', ConsoleElement);
