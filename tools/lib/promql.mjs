/** What a PromQL expression asks for: its metrics with the labels that are matched, and the labels that it groups by. */
import { parser } from '@prometheus-io/lezer-promql';

/**
 * @typedef {object} Selector
 * @property {string} metric
 * @property {{ label: string, op: string, value: string }[]} matchers
 */

/**
 * @param {string} expression
 * @returns {{ selectors: Selector[], groupings: string[], broken: boolean }}
 */
export function readPromql(expression) {
  /** @type {Selector[]} */
  const selectors = [];
  /** @type {string[]} */
  const groupings = [];
  let broken = false;
  const textOf = (/** @type {{ from: number, to: number }} */ { from, to }) => expression.slice(from, to);
  parser.parse(expression).iterate({
    enter(node) {
      if (node.type.isError) broken = true;
      if (node.name === 'VectorSelector') {
        const metric = node.node.getChild('Identifier');
        selectors.push({ metric: metric === null ? '' : textOf(metric), matchers: [] });
      } else if (node.name === 'UnquotedLabelMatcher') {
        const [label, op, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((name) => {
          const child = node.node.getChild(name);
          return child === null ? '' : textOf(child);
        });
        selectors
          .at(-1)
          ?.matchers.push({ label: label ?? '', op: op ?? '', value: (value ?? '').slice(1, -1) });
      } else if (node.name === 'GroupingLabels') {
        for (const child of node.node.getChildren('LabelName')) groupings.push(textOf(child));
      }
    },
  });
  return { selectors, groupings, broken };
}
