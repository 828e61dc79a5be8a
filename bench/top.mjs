/**
 * Reads CPU profiles and prints where the time went: by file group, and the functions of samekey with the most time of
 * their own. `node bench/top.mjs <folder or .cpuprofile> [count]`
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const [path = '.', count = '25'] = process.argv.slice(2);
const files = statSync(path).isDirectory()
  ? readdirSync(path)
      .filter((name) => name.endsWith('.cpuprofile'))
      .map((name) => join(path, name))
  : [path];

/** @type {Map<string, number>} */
const byFunction = new Map();
/** @type {Map<string, number>} */
const byGroup = new Map();
/** @type {Map<string, number>} */
const withCallees = new Map();
let total = 0;

for (const file of files) {
  /** @type {{ nodes: { id: number, children?: number[], callFrame: { functionName: string, url: string, lineNumber: number } }[], samples: number[], timeDeltas: number[] }} */
  const profile = JSON.parse(readFileSync(file, 'utf8'));
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  for (const [i, id] of profile.samples.entries()) {
    const frame = nodes.get(id);
    const us = profile.timeDeltas[i] ?? 0;
    if (frame === undefined || frame.functionName === '(idle)' || frame.functionName === '(program)')
      continue;
    const group = groupOf(frame);
    const name = nameOf(frame);
    total += us;
    // Once a function, however deep it calls itself.
    const stack = new Set();
    for (let at = /** @type {number | undefined} */ (id); at !== undefined; at = parents.get(at)) {
      const above = nodes.get(at);
      if (above !== undefined) stack.add(nameOf(above));
    }
    for (const one of stack) withCallees.set(one, (withCallees.get(one) ?? 0) + us);
    byFunction.set(name, (byFunction.get(name) ?? 0) + us);
    byGroup.set(group, (byGroup.get(group) ?? 0) + us);
  }
}

/** @param {{ functionName: string, url: string, lineNumber: number }} frame */
function nameOf(frame) {
  const where = frame.url.replace(/^.*\/(dist|node_modules)\//, '');
  return `${groupOf(frame).padEnd(12)} ${frame.functionName || '(anonymous)'} ${where}:${frame.lineNumber + 1}`;
}

/** @param {{ functionName: string, url: string }} frame */
function groupOf({ functionName, url }) {
  if (url.includes('/packages/samekey/')) return 'samekey';
  if (url.includes('/node_modules/structured-headers/')) return 'structured-headers';
  if (url.includes('/node_modules/')) return 'express';
  if (url.startsWith('node:')) return 'node';
  return functionName === '(garbage collector)' ? 'gc' : url === '' ? 'engine' : 'bench';
}

/**
 * @param {string} title
 * @param {Map<string, number>} times
 * @param {number} most
 */
function print(title, times, most) {
  console.log(title);
  for (const [name, us] of [...times].toSorted(([, a], [, b]) => b - a).slice(0, most)) {
    console.log(`${((100 * us) / total).toFixed(1).padStart(6)} %  ${name}`);
  }
}
print('by group', byGroup, 10);
/** @param {Map<string, number>} times */
const ofSamekey = (times) =>
  new Map([...times].filter(([name]) => name.startsWith('samekey') || name.startsWith('structured')));
print('functions of samekey, self time', ofSamekey(byFunction), Number(count));
print('functions of samekey, with what they call', ofSamekey(withCallees), Number(count));
print('all functions, self time', byFunction, Number(count));
