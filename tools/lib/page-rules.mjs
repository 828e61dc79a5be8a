/** Who may import whom in the packages that have a page; `tools/check-imports.mjs` holds them to it. */

/**
 * @param {string[]} pure globals that nothing without a machine may name
 * @param {string[]} nodeOnly globals that a browser does not have
 * @returns {Record<string, { at: string, may: string[], node?: 'any', packages?: string[], globals?: string[] }[]>}
 */
export function pageRules(pure, nodeOnly) {
  return {
    // What is played knows no screen, and what is laid out draws nothing.
    'packages/explainer': [
      { at: 'model', may: [], packages: ['samekey', '@samekey/testing'], globals: pure },
      { at: 'layout', may: ['type:model'], globals: pure },
      { at: 'view', may: ['model', 'layout'], packages: ['lit'], globals: nodeOnly },
      { at: 'index.html', may: [] },
      { at: 'live.html', may: [] },
    ],
    // What runs in the browser knows of the server what they say to each other.
    'packages/console': [
      { at: 'page', may: ['type:api'], packages: ['lit'], globals: nodeOnly },
      { at: '.', may: [], node: 'any', packages: ['samekey'] },
    ],
  };
}
