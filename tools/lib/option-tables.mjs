/**
 * The options of this repository as their tables have them: `{ … } satisfies Table<Name>`, read from the sources. A row says whether its
 * member must be given, and what stands there if it is not; the interface of the same name says in words what users read in their editors.
 */
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readText, walkFiles } from './files.mjs';
import { walk } from 'oxc-walker';
import { commentsOf, lineOf, parse } from './parse.mjs';

/** @typedef {import('oxc-parser').Node} Node */
/** @typedef {import('oxc-parser').Expression} Expression */

/**
 * What stands there if a member is not given: a value that the table tells, nothing, or what only running code knows.
 * @typedef {{ kind: 'required' } | { kind: 'none' } | { kind: 'value', value: unknown } | { kind: 'computed' }} Default
 */
/**
 * What an interface says of a member: null where no interface of that name declares it.
 * @typedef {{ words: string | null, isOwn: boolean, file: string, line: number }} Said
 */
/** @typedef {Said & { name: string, absent: Default }} Option */
/** @typedef {{ file: string, text: string, consts: Map<string, Expression>, imports: Map<string, { from: string, name: string }> }} Module */

/** Which argument of a maker of rows is what stands there if nothing is given; null: none can. @type {Readonly<Record<string, number | null>>} */
const MAKERS = {
  wholeNumber: 2,
  trueOrFalse: 0,
  oneOf: 1,
  text: 0,
  listOf: 1,
  row: 1,
  aFunction: null,
  having: null,
  anything: null,
  byName: null,
  nested: null,
};

/** @type {Default} */
const NONE = { kind: 'none' };
/** @type {Default} */
const COMPUTED = { kind: 'computed' };

/**
 * Every table below these folders, by the name of its interface.
 * @param {string} root
 * @param {readonly string[]} folders
 * @returns {Map<string, Option[]>}
 */
export function optionTables(root, folders) {
  const reader = new Reader(root);
  const files = folders.flatMap((folder) => walkFiles(root, folder).filter((path) => path.endsWith('.ts')));
  const words = wordsOf(root, files);
  /** @type {Map<string, Option[]>} */
  const tables = new Map();
  for (const file of files) {
    const module = reader.module(file);
    if (!module.text.includes('Table<')) continue;
    walk(parse(file, module.text), {
      enter(node) {
        const name = node.type === 'TSSatisfiesExpression' ? interfaceOf(node.typeAnnotation) : null;
        if (node.type !== 'TSSatisfiesExpression' || name === null || tables.has(name)) return;
        const members = words.get(name);
        const options = [...reader.rows(node.expression, module)].map(([member, absent]) => {
          const said = members?.get(member) ?? {
            words: null,
            isOwn: false,
            file,
            line: lineOf(module.text, node.start),
          };
          return { name: member, absent, ...said };
        });
        tables.set(name, options);
      },
    });
  }
  return tables;
}

/**
 * The members of interfaces whose defaults are a constant of numbers: for code that must weigh little and has no tables.
 * @param {string} root
 * @param {string} file
 * @param {string} constant
 * @param {readonly string[]} names
 * @returns {Option[]}
 */
export function optionsByConstant(root, file, constant, names) {
  if (!existsSync(join(root, file))) return [];
  const reader = new Reader(root);
  const module = reader.module(file);
  const numbers = reader.values(module.consts.get(constant), module);
  const words = wordsOf(root, [file]);
  return names.flatMap((interfaceName) =>
    [...(words.get(interfaceName) ?? [])].map(([name, said]) => {
      const value = numbers.get(name);
      return { name, absent: value === undefined ? COMPUTED : { kind: 'value', value }, ...said };
    }),
  );
}

/**
 * The interface that a type `Table<Name>` is about; of `Table<Name & …>` the last one that is named.
 * @param {import('oxc-parser').TSType} type
 * @returns {string | null}
 */
function interfaceOf(type) {
  if (nameOf(type) !== 'Table' || type.type !== 'TSTypeReference') return null;
  const [given] = type.typeArguments?.params ?? [];
  if (given === undefined) return null;
  const name = given.type === 'TSIntersectionType' ? 'Pick' : nameOf(given);
  // Of a part of an interface the whole is meant.
  if (name !== 'Pick' && name !== 'Omit') return name;
  const part =
    given.type === 'TSIntersectionType' ? given.types.find((one) => nameOf(one) === 'Pick') : given;
  const [whole] = (part?.type === 'TSTypeReference' && part.typeArguments?.params) || [];
  return whole === undefined ? null : nameOf(whole);
}

/**
 * @param {import('oxc-parser').TSType} type
 * @returns {string | null}
 */
function nameOf(type) {
  return type.type === 'TSTypeReference' && type.typeName.type === 'Identifier' ? type.typeName.name : null;
}

/** Reads modules once. */
class Reader {
  #root;
  /** @type {Map<string, Module>} */
  #modules = new Map();

  /** @param {string} root */
  constructor(root) {
    this.#root = root;
  }

  /**
   * @param {string} file
   * @returns {Module}
   */
  module(file) {
    const known = this.#modules.get(file);
    if (known !== undefined) return known;
    const text = existsSync(join(this.#root, file)) ? readText(this.#root, file) : '';
    /** @type {Module} */
    const module = { file, text, consts: new Map(), imports: new Map() };
    this.#modules.set(file, module);
    for (const statement of parse(file, text).body) {
      const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
      if (declared?.type === 'VariableDeclaration') {
        for (const { id, init } of declared.declarations)
          if (id.type === 'Identifier' && init !== null) module.consts.set(id.name, init);
      } else if (statement.type === 'ImportDeclaration') {
        for (const one of statement.specifiers)
          if (one.type === 'ImportSpecifier' && one.imported.type === 'Identifier')
            module.imports.set(one.local.name, { from: statement.source.value, name: one.imported.name });
      } else if (statement.type === 'ExportNamedDeclaration' && statement.source !== null) {
        for (const { local, exported } of statement.specifiers)
          if (local.type === 'Identifier' && exported.type === 'Identifier')
            module.imports.set(exported.name, { from: statement.source.value, name: local.name });
      }
    }
    return module;
  }

  /**
   * What a name stands for, and where; null for what is no constant of this package.
   * @param {string} name
   * @param {Module} module
   * @returns {{ node: Node, module: Module } | null}
   */
  #found(name, module) {
    const own = module.consts.get(name);
    if (own !== undefined) return { node: own, module };
    const imported = module.imports.get(name);
    if (imported === undefined) return null;
    const inside = /^samekey\/internals\/(.+)$/.exec(imported.from);
    const file = inside
      ? `packages/samekey/src/${inside[1]}.ts`
      : posix.join(posix.dirname(module.file), imported.from);
    if (!inside && !imported.from.startsWith('.')) return null;
    return this.#found(imported.name, this.module(file));
  }

  /**
   * The rows of a table, those that it spreads among them.
   * @param {Node} table
   * @param {Module} module
   * @returns {Map<string, Default>}
   */
  rows(table, module) {
    const node = bare(table);
    /** @type {Map<string, Default>} */
    const rows = new Map();
    if (node.type === 'Identifier') {
      const found = this.#found(node.name, module);
      return found === null ? rows : this.rows(found.node, found.module);
    }
    if (node.type !== 'ObjectExpression') return rows;
    for (const property of node.properties) {
      if (property.type === 'SpreadElement') {
        for (const [name, absent] of this.rows(property.argument, module)) rows.set(name, absent);
      } else if (property.key.type === 'Identifier') {
        rows.set(property.key.name, this.#absent(property.value, module));
      }
    }
    return rows;
  }

  /**
   * The members of an object of literals and constants.
   * @param {Node | undefined} object
   * @param {Module} module
   * @returns {Map<string, unknown>}
   */
  values(object, module) {
    /** @type {Map<string, unknown>} */
    const values = new Map();
    if (object?.type !== 'ObjectExpression') return values;
    for (const property of object.properties) {
      if (property.type === 'Property' && property.key.type === 'Identifier')
        values.set(property.key.name, this.#value(property.value, module));
    }
    return values;
  }

  /**
   * What a row leaves where nothing is given.
   * @param {Node} row
   * @param {Module} module
   * @returns {Default}
   */
  #absent(row, module) {
    const node = bare(row);
    if (node.type === 'Identifier') {
      const found = this.#found(node.name, module);
      return found === null ? COMPUTED : this.#absent(found.node, found.module);
    }
    if (node.type === 'MemberExpression' && node.property.type === 'Identifier')
      return this.rows(node.object, module).get(node.property.name) ?? COMPUTED;
    if (node.type === 'ObjectExpression') {
      const absent = node.properties.find(
        (one) => one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === 'absent',
      );
      if (absent?.type === 'Property') return this.#valued(absent.value, module);
      const spread = node.properties.find((one) => one.type === 'SpreadElement');
      return spread?.type === 'SpreadElement' ? this.#absent(spread.argument, module) : COMPUTED;
    }
    if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier') return COMPUTED;
    const { name } = node.callee;
    const [inner] = node.arguments;
    if (name === 'required') return { kind: 'required' };
    if (name === 'orNull' && inner !== undefined) return this.#absent(inner, module);
    if (!Object.hasOwn(MAKERS, name)) return COMPUTED;
    const at = MAKERS[name];
    const given = typeof at === 'number' ? node.arguments[at] : undefined;
    return given === undefined ? NONE : this.#valued(given, module);
  }

  /**
   * @param {Node} node
   * @param {Module} module
   * @returns {Default}
   */
  #valued(node, module) {
    const value = this.#value(node, module);
    if (value === undefined) return COMPUTED;
    return value === null ? NONE : { kind: 'value', value };
  }

  /**
   * The value of an expression of literals and constants; undefined for anything else.
   * @param {Node} expression
   * @param {Module} module
   * @returns {unknown}
   */
  #value(expression, module) {
    const node = bare(expression);
    if (node.type === 'Literal') return node.value;
    if (node.type === 'Identifier') {
      const found = this.#found(node.name, module);
      return found === null ? undefined : this.#value(found.node, found.module);
    }
    if (node.type === 'ArrowFunctionExpression') return this.#value(node.body, module);
    if (node.type === 'ArrayExpression') {
      const values = node.elements.map((one) => (one === null ? undefined : this.#value(one, module)));
      return values.includes(undefined) ? undefined : values;
    }
    if (node.type !== 'BinaryExpression') return undefined;
    const left = this.#value(node.left, module);
    const right = this.#value(node.right, module);
    if (typeof left !== 'number' || typeof right !== 'number') return undefined;
    if (node.operator === '*') return left * right;
    return node.operator === '**' ? left ** right : undefined;
  }
}

/**
 * Without what is there for types only.
 * @param {Node} node
 * @returns {Node}
 */
function bare(node) {
  return node.type === 'TSSatisfiesExpression' || node.type === 'TSAsExpression'
    ? bare(node.expression)
    : node;
}

/**
 * What the members of interfaces say of themselves, those of the interfaces that they extend among them.
 * @param {string} root
 * @param {readonly string[]} files
 * @returns {Map<string, Map<string, Said>>}
 */
function wordsOf(root, files) {
  /** @type {Map<string, { own: Map<string, Said>, bases: string[] }>} */
  const found = new Map();
  for (const file of files) {
    const text = readText(root, file);
    if (!text.includes('interface ')) continue;
    const comments = commentsOf(file, text);
    for (const statement of parse(file, text).body) {
      const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
      if (declared?.type !== 'TSInterfaceDeclaration' || found.has(declared.id.name)) continue;
      /** @type {Map<string, Said>} */
      const own = new Map();
      for (const member of declared.body.body) {
        if (!('key' in member) || member.key.type !== 'Identifier') continue;
        const before = comments.findLast(({ end }) => end <= member.start);
        const isIts = before !== undefined && text.slice(before.end, member.start).trim() === '';
        const words = isIts
          ? before.value
              .replace(/^\s*\* ?/gm, '')
              .replace(/\s+/g, ' ')
              .trim()
          : '';
        own.set(member.key.name, { words, isOwn: true, file, line: lineOf(text, member.start) });
      }
      const bases = declared.extends.flatMap(({ expression }) =>
        expression.type === 'Identifier' ? [expression.name] : [],
      );
      found.set(declared.id.name, { own, bases });
    }
  }
  /** @param {string} name @returns {Map<string, Said>} */
  const all = (name) => {
    const { own, bases } = found.get(name) ?? { own: new Map(), bases: [] };
    const inherited = bases.flatMap((base) => [...all(base)]);
    return new Map([
      ...inherited.map(([member, said]) => /** @type {const} */ ([member, { ...said, isOwn: false }])),
      ...own,
    ]);
  };
  return new Map([...found.keys()].map((name) => [name, all(name)]));
}
