/** What can be said of a record, and the fields that each needs. Pure: from a form to what is asked. */

import { html, type TemplateResult } from 'lit';
import type { ActRequest, Whole } from '../api.ts';
import { AskFault } from './ask-server.ts';
import { textIn } from './readable.ts';

/** Something that can be done. */
export interface Choice {
  readonly id: string;
  readonly act: ActRequest['act'];
  readonly title: string;
  readonly effect: string;
  /** On the button that does it. */
  readonly done: string;
  readonly fields: 'answer' | 'result' | 'proof' | 'none' | 'nothing-happened';
  readonly to?: 'completed' | 'failed' | 'retryable';
  readonly status?: number;
}

/** By the state of a record. */
export function choicesOf({
  acts,
  openEffect,
  why,
}: Pick<Whole, 'acts' | 'openEffect' | 'why'>): readonly Choice[] {
  return acts.flatMap((act): readonly Choice[] => {
    if (act === 'settle') return settlements(openEffect);
    const never = why?.startsWith('outcome-never-known') === true;
    if (act === 'reopen')
      return [
        {
          id: 'reopen',
          act,
          title: 'Reopen it',
          effect: 'Its error goes; the next request runs.',
          done: 'Reopen it',
          fields: never ? 'nothing-happened' : 'none',
        },
      ];
    return [
      {
        id: 'forget',
        act,
        title: 'Forget it',
        effect: 'The record goes; its key acts as never used.',
        done: 'Forget it',
        fields: 'nothing-happened',
      },
    ];
  });
}

function settlements(openEffect: string | null): readonly Choice[] {
  const act = 'settle';
  const effect: readonly Choice[] =
    openEffect === null
      ? []
      : [
          {
            id: 'effect',
            act,
            title: `The effect “${openEffect}” happened, the rest is still to do`,
            effect: 'You give its result; the next attempt goes on behind it.',
            done: 'Store its result',
            fields: 'result',
            to: 'retryable',
          },
        ];
  return [
    {
      id: 'completed',
      act,
      title: 'It happened',
      effect: 'You give the answer that retries get.',
      done: 'Settle as completed',
      fields: 'answer',
      to: 'completed',
      status: 201,
    },
    {
      id: 'failed',
      act,
      title: 'It was refused for good',
      effect: 'You give the error that retries get.',
      done: 'Settle as failed',
      fields: 'answer',
      to: 'failed',
      status: 402,
    },
    ...effect,
    {
      id: 'nothing',
      act,
      title: 'Nothing happened, and nothing can any more',
      effect: 'The next request runs. In doubt leave it: a key that runs twice costs money.',
      done: 'Let it run again',
      fields: 'proof',
      to: 'retryable',
    },
  ];
}

/** The fields of a choice. */
export function answerFields({ fields, status }: Choice): TemplateResult {
  switch (fields) {
    case 'answer':
      return html`<label class="field"
          ><span>Status</span><input name="status" type="number" min="200" max="599" required .value=${String(status ?? '')}
        /></label>
        <label class="field"
          ><span>Body (empty: it is lost, and retries get 410)</span><textarea name="body" spellcheck="false"></textarea></label
        >`;
    case 'result':
      return html`<label class="field"
        ><span>What the call gave, as JSON</span><textarea name="result" required spellcheck="false">null</textarea></label
      >`;
    case 'proof':
      return html`<fieldset class="stack">
          <legend class="small"><strong>Why nothing can happen any more</strong></legend>
          ${proof('', 'The record shows it: its owner told its own end', true)}
          ${proof('owner-gone', 'I made sure that the process that ran it is gone, and that its calls have ended')}
          ${proof('downstream-key', 'Every call carries a key under which the provider acts once')}
        </fieldset>
        <label class="field"
          ><span>Longest call after its claim ended, in seconds (empty: as the effect says, else 60)</span
          ><input name="seconds" type="number" min="0"
        /></label>`;
    case 'nothing-happened':
      return html`<label class="check"
        ><input type="checkbox" name="none" /> I made sure that nothing happened (needed where nobody came to know)</label
      >`;
    default:
      return html``;
  }
}

function proof(value: string, words: string, isFirst = false): TemplateResult {
  return html`<label class="check"
    ><input type="radio" name="because" value=${value} ?checked=${isFirst} /> ${words}</label
  >`;
}

type Said = Omit<ActRequest, 'scope' | 'key' | 'seen' | 'reason'>;

/** What the form says. Throws `AskFault` for what is no JSON. */
export function readChoice({ act, fields, to }: Choice, given: FormData): Said {
  const text = (name: string): string => textIn(given, name);
  const base = { act, ...(to === undefined ? {} : { to }) };
  switch (fields) {
    case 'answer': {
      const body = text('body');
      return { ...base, response: { status: Number(text('status')), body: body === '' ? null : body } };
    }
    case 'result':
      return { ...base, effectResult: jsonOf(text('result')) };
    case 'proof': {
      const because = text('because') as 'owner-gone' | 'downstream-key' | '';
      const seconds = text('seconds');
      return {
        ...base,
        ...(because === '' ? {} : { because }),
        ...(seconds === '' ? {} : { callTimeMaxMs: Math.round(Number(seconds) * 1_000) }),
      };
    }
    case 'nothing-happened':
      return { ...base, ...(given.get('none') === null ? {} : { effect: 'none' }) };
    default:
      return base;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AskFault({ code: 'json', message: 'The result must be JSON; a text is in double quotes.' });
  }
}
