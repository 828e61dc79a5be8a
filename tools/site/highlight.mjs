/**
 * Code in colours, by classes: an inline style would need a hole in the policy of the pages. Each pair of colours, of the light and of the dark
 * theme, is one class, and `css()` has those that were used.
 */
import { createHighlighterCore } from 'shiki/core';
import { createOnigurumaEngine } from 'shiki/engine/oniguruma';
import css from 'shiki/langs/css.mjs';
import docker from 'shiki/langs/docker.mjs';
import hcl from 'shiki/langs/hcl.mjs';
import html from 'shiki/langs/html.mjs';
import http from 'shiki/langs/http.mjs';
import javascript from 'shiki/langs/javascript.mjs';
import json from 'shiki/langs/json.mjs';
import sh from 'shiki/langs/shellscript.mjs';
import sql from 'shiki/langs/sql.mjs';
import tsx from 'shiki/langs/tsx.mjs';
import typescript from 'shiki/langs/typescript.mjs';
import yaml from 'shiki/langs/yaml.mjs';
import dark from 'shiki/themes/github-dark-high-contrast.mjs';
import light from 'shiki/themes/github-light-high-contrast.mjs';

/** Endings and words behind three backticks that are no names of a language. */
const ALIASES = { mjs: 'javascript', cjs: 'javascript', jsonc: 'json', yml: 'yaml', dockerfile: 'docker' };

/** Longer texts are shown without colours: nobody reads them for their colours, and the build is to be quick. */
const COLOURED_MAX = 40_000;

/** @typedef {Awaited<ReturnType<typeof createHighlighter>>} Highlighter */

export async function createHighlighter() {
  const shiki = await createHighlighterCore({
    themes: [light, dark],
    langs: [css, docker, hcl, html, http, javascript, json, sh, sql, tsx, typescript, yaml],
    engine: createOnigurumaEngine(import('shiki/wasm')),
  });
  const known = new Set(shiki.getLoadedLanguages());
  /** @type {Map<string, string>} */
  const classes = new Map();
  /** @param {string | undefined} bright @param {string | undefined} dim */
  const classOf = (bright = '', dim = '') => {
    const pair = `${bright} ${dim}`;
    if (!classes.has(pair)) classes.set(pair, `c${classes.size}`);
    return /** @type {string} */ (classes.get(pair));
  };
  return {
    /**
     * The children of `<code>`.
     * @param {string} code
     * @param {string} lang
     * @returns {import('hast').ElementContent[]}
     */
    children(code, lang) {
      const name = ALIASES[/** @type {keyof typeof ALIASES} */ (lang)] ?? lang;
      if (!known.has(name) || code.length > COLOURED_MAX) return [{ type: 'text', value: code }];
      const lines = shiki.codeToTokensWithThemes(code, {
        lang: name,
        themes: { light: light.name ?? '', dark: dark.name ?? '' },
      });
      return lines.flatMap((tokens, at) => [
        ...(at === 0 ? [] : [/** @type {const} */ ({ type: 'text', value: '\n' })]),
        ...tokens.map(({ content, variants }) => ({
          type: /** @type {const} */ ('element'),
          tagName: 'span',
          properties: { className: [classOf(variants['light']?.color, variants['dark']?.color)] },
          children: [{ type: /** @type {const} */ ('text'), value: content }],
        })),
      ]);
    },
    /** The classes, for the sheet of styles. */
    css() {
      return [...classes]
        .map(([pair, name]) => {
          const [bright, dim] = pair.split(' ');
          return `.${name}{color:light-dark(${bright},${dim})}`;
        })
        .join('\n');
    },
  };
}
