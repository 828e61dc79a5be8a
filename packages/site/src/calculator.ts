/** The calculator of docs/sizing.md: asks what somebody knows, tells what it needs. */

import { type Load, needsOf } from './sizing.ts';

const QUESTIONS: readonly (readonly [keyof Load, string, number])[] = [
  ['keysPerDay', 'Keys a day', 1_000_000],
  ['peakFactor', 'Peak, times the average', 10],
  ['retentionDays', 'Retention, days', 1],
  ['answerBytes', 'Bytes of an answer', 270],
  ['processes', 'Processes', 4],
  ['flushMs', 'A flush takes, ms', 1],
];

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

class Sizing extends HTMLElement {
  connectedCallback(): void {
    const form = document.createElement('form');
    const inputs = QUESTIONS.map(([name, words, usual]) => {
      const label = document.createElement('label');
      const input = document.createElement('input');
      input.type = 'number';
      input.min = '0';
      input.step = 'any';
      input.name = name;
      input.value = String(usual);
      label.append(words, input);
      form.append(label);
      return input;
    });
    const result = document.createElement('div');
    result.className = 'table';
    result.setAttribute('role', 'status');
    const tell = (): void => {
      const load = Object.fromEntries(
        inputs.map(({ name, valueAsNumber }) => [name, Number.isFinite(valueAsNumber) ? valueAsNumber : 0]),
      ) as unknown as Load;
      result.replaceChildren(tableOf(load));
    };
    form.addEventListener('input', tell);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
    });
    this.append(form, result);
    tell();
  }
}

function tableOf(load: Load): HTMLTableElement {
  const needs = needsOf(load);
  const rows: readonly (readonly [string, string])[] = [
    [
      'Keys a second, average and peak',
      `${count(needs.keysPerSecond)} and ${count(needs.keysPerSecondAtPeak)}`,
    ],
    ['Rows', count(needs.rows)],
    ['Table and indexes', `${size(needs.bytes)} (${count(needs.bytesPerRecord)} bytes a record)`],
    ['Log (WAL) a day', size(needs.logBytesPerDay)],
    ['Flushes a second at peak, at most (IOPS)', count(needs.flushesPerSecondAtPeak)],
    ['Connections of the store', count(needs.connections)],
    ['DynamoDB: write units a second at peak', count(needs.dynamodb.writeUnitsPerSecondAtPeak)],
    ['DynamoDB: read units a second at peak', count(needs.dynamodb.readUnitsPerSecondAtPeak)],
    ['DynamoDB: write units a day', count(needs.dynamodb.writeUnitsPerDay)],
  ];
  const table = document.createElement('table');
  for (const [name, value] of rows) {
    const row = table.insertRow();
    const head = document.createElement('th');
    head.scope = 'row';
    head.textContent = name;
    row.append(head);
    row.insertCell().textContent = value;
  }
  return table;
}

function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
}

function size(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${count(bytes / 1_000 ** at)} ${UNITS[at] ?? ''}`;
}

customElements.define('samekey-sizing', Sizing);
