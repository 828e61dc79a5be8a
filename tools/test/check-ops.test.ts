import { describe, expect, it } from 'vitest';
import { type Catalog, checkOps, judgeExpression } from '../check-ops.mjs';
import { lines, tree } from './fixture.ts';

const CATALOG: Catalog = {
  prefix: 'api.idempotency.',
  metrics: [
    ['lost.count', { kind: 'counter', unit: '{key}', labels: ['to', 'operation'], meaning: 'Lost keys.' }],
    ['age.seconds', { kind: 'histogram', unit: 's', labels: ['operation'], meaning: 'How old.' }],
    ['records', { kind: 'gauge', unit: '{record}', labels: [], meaning: 'How many.' }],
  ],
  labels: { to: { values: ['unknown', 'failed'] }, operation: { values: null } },
  lines: { swept: ['info', 'Keys were swept.'] },
};

const ALERT = {
  alert: 'KeysLost',
  expr: 'sum by (to) (increase(api_idempotency_lost_count_total[5m])) > 0',
  labels: { severity: 'page' },
  annotations: {
    summary: 'Keys are lost as {{ $labels.to }}',
    description: 'They are.',
    runbook_url: 'https://samekey.example/runbooks/lost',
  },
};
const PANEL = {
  title: 'Lost',
  targets: [
    {
      expr: 'sum by (to) (rate(api_idempotency_lost_count_total[$__rate_interval]))',
      legendFormat: '{{to}}',
    },
  ],
};
const PAGE =
  'Alerts: `KeysLost`. See `api.idempotency.lost.count`, `api_idempotency_age_seconds_sum` and `api.idempotency.lost`.';
const ROWS = [
  '| `api.idempotency.lost.count` | counter | `{key}` | `to`, `operation` | Lost keys. |',
  '| `api.idempotency.age.seconds` | histogram | `s` | `operation` | How old. |',
  '| `api.idempotency.records` | gauge | `{record}` | – | How many. |',
  '| `swept` | info | Keys were swept. |',
];

interface Parts {
  readonly alerts?: readonly object[];
  readonly panels?: readonly object[];
  readonly variables?: readonly object[];
  readonly rows?: readonly string[];
  readonly runbooks?: readonly string[];
  /** Of each runbook. */
  readonly page?: string;
}

function found({
  alerts = [ALERT],
  panels = [PANEL],
  variables = [],
  rows = ROWS,
  runbooks = ['lost'],
  page = PAGE,
}: Parts) {
  const books = runbooks.map((name) => [`docs/runbooks/${name}.md`, page] as const);
  return lines(
    checkOps(
      tree({
        'ops/prometheus/alerts.yaml': { groups: [{ name: 'samekey', rules: alerts }] },
        'ops/grafana/dashboard.json': { panels, templating: { list: variables } },
        'docs/reference/metrics.md': rows.join('\n'),
        ...Object.fromEntries(books),
      }),
      CATALOG,
    ),
  );
}

const variable = (query: string) => ({ name: 'which', query });

describe('check-ops', () => {
  it('holds when alerts, dashboard, runbooks and reference are about what there is', () => {
    expect(found({})).toEqual([]);
  });

  it('a tree without any of it fails', () => {
    expect(lines(checkOps(tree({}), CATALOG))).toEqual([
      'ops/prometheus/alerts.yaml  does not exist',
      'ops/grafana/dashboard.json  does not exist',
      'docs/reference/metrics.md  does not exist',
    ]);
  });

  it.each([
    ['api_idempotency_lost_count', 'there is no metric api_idempotency_lost_count'],
    ['api_idempotency_age_seconds', 'there is no metric api_idempotency_age_seconds'],
    ['{to="failed"}', 'there is no metric (without a name)'],
    ['api_idempotency_records{to="failed"}', 'api_idempotency_records has no label to'],
    ['api_idempotency_lost_count_total{to="gone"}', 'to of api_idempotency_lost_count_total is never "gone"'],
    ['api_idempotency_lost_count_total{to=~"failed|gone"}', 'is never "gone"'],
    ['sum by (state) (api_idempotency_lost_count_total)', 'groups by state, which none of its metrics has'],
    ['sum(rate(api_idempotency_lost_count_total[5m])', 'is no PromQL'],
    ['api_idempotency_records >', 'is no PromQL'],
  ])('the expression %s fails', (expression, message) => {
    expect(judgeExpression(expression, CATALOG).join('; ')).toContain(message);
    expect(
      found({
        alerts: [{ ...ALERT, expr: expression, annotations: { ...ALERT.annotations, summary: 's' } }],
      }),
    ).toEqual(expect.arrayContaining([expect.stringContaining(message)]));
    expect(
      found({ panels: [{ title: 'Nested', panels: [{ ...PANEL, targets: [{ expr: expression }] }] }] }),
    ).toEqual(expect.arrayContaining([expect.stringContaining(message)]));
  });

  it.each([
    'histogram_quantile(0.99, sum by (le, operation) (rate(api_idempotency_age_seconds_bucket[5m])))',
    'api_idempotency_age_seconds_sum{operation="anything", job="api"} / api_idempotency_age_seconds_count',
    'api_idempotency_lost_count_total{operation=~"$operation", to!="failed"} offset 1d',
    'time() - max(api_idempotency_records) > 60 or absent(api_idempotency_records)',
  ])('the expression %s holds', (expression) => {
    expect(judgeExpression(expression, CATALOG)).toEqual([]);
  });

  it.each([
    [{ labels: {} }, 'its severity is one of page, ticket'],
    [
      { annotations: { ...ALERT.annotations, description: undefined } },
      'it needs the annotation description',
    ],
    [{ annotations: { ...ALERT.annotations, runbook_url: undefined } }, 'runbook_url begins with'],
    [
      { annotations: { ...ALERT.annotations, runbook_url: 'https://samekey.example/runbooks/gone' } },
      'its runbook docs/runbooks/gone.md does not exist',
    ],
    [
      { annotations: { ...ALERT.annotations, summary: '{{ $labels.operation }}' } },
      'an annotation shows operation, which its expression does not keep',
    ],
  ])('an alert with %j fails', (change, message) => {
    expect(found({ alerts: [{ ...ALERT, ...change }] })).toEqual(
      expect.arrayContaining([expect.stringContaining(`KeysLost: ${message}`)]),
    );
  });

  it('an alert that its runbook does not name fails', () => {
    expect(found({ alerts: [{ ...ALERT, alert: 'KeysFound' }] })).toEqual([
      expect.stringContaining('KeysFound: its runbook docs/runbooks/lost.md does not name it'),
    ]);
  });

  it('two alerts of one name fail, and a runbook that no alert leads to', () => {
    expect(found({ alerts: [ALERT, ALERT] })).toEqual([expect.stringContaining('two of this name')]);
    expect(found({ runbooks: ['lost', 'forgotten'] })).toEqual([
      'docs/runbooks/forgotten.md  no alert of ops/prometheus/alerts.yaml leads here',
    ]);
  });

  it('a runbook names no alert and no metric that is not there', () => {
    expect(found({ page: `${PAGE}\nAnd \`SamekeyGone\`.` })).toEqual([
      'docs/runbooks/lost.md:2  there is no alert SamekeyGone',
    ]);
    for (const name of ['api.idempotency.gone', 'api_idempotency_lost_count_totals', 'api.idempotency.los'])
      expect(found({ page: `${PAGE}\nSee \`${name}\`.` })).toEqual([
        `docs/runbooks/lost.md:2  there is no metric ${name}`,
      ]);
  });

  it('a legend and a variable of the dashboard are about labels that are there', () => {
    const legend = { ...PANEL, targets: [{ ...PANEL.targets[0], legendFormat: '{{operation}}' }] };
    expect(found({ panels: [legend] })).toEqual([
      'ops/grafana/dashboard.json  Lost: its legend shows operation, which its query does not keep',
    ]);
    expect(
      found({ variables: [variable('label_values(api_idempotency_lost_count_total, operation)')] }),
    ).toEqual([]);
    expect(
      found({ variables: [variable('label_values(api_idempotency_lost_count_total, state)')] }),
    ).toHaveLength(1);
    expect(found({ variables: [variable('label_values(api_idempotency_records, to)')] })).toHaveLength(1);
  });

  it('the reference has each metric and each line of the log as it is, and no other metric', () => {
    expect(found({ rows: ROWS.slice(1) })).toEqual([
      expect.stringContaining('api.idempotency.lost.count needs the row'),
    ]);
    expect(found({ rows: ROWS.map((row) => row.replace('info', 'warn')) })).toEqual([
      expect.stringContaining('swept needs the row'),
    ]);
    expect(
      found({ rows: [...ROWS, '| `api.idempotency.gone.count` | counter | `1` | – | Gone. |'] }),
    ).toEqual(['docs/reference/metrics.md:5  there is no metric api.idempotency.gone.count']);
  });
});
