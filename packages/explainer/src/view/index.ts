/** Registers the elements of the page. */

import { ControlsElement } from './controls-element.ts';
import { ExplainerElement } from './explainer-element.ts';
import { MessagesElement } from './messages-element.ts';
import { RowElement } from './row-element.ts';
import { StageElement } from './stage-element.ts';

customElements.define('samekey-controls', ControlsElement);
customElements.define('samekey-messages', MessagesElement);
customElements.define('samekey-row', RowElement);
customElements.define('samekey-stage', StageElement);
customElements.define('samekey-explainer', ExplainerElement);
