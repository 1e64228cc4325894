import { readdirSync, readFileSync } from 'node:fs'
import { Script } from 'node:vm'
import { tokenizer } from 'acorn'
import { describe, expect, test } from 'vitest'
import { makeScript } from '../../../base/web/browser-script.ts'
import { makeAdminScript, makeClientScript, makeWorkbenchScript } from '../../../host/web/scripts.ts'
import { withoutTypes } from '../../../runtime/without-types.ts'

/** Reads the modules in these folders of the repository. */
const modulesIn = (...folders: readonly string[]) =>
  folders.flatMap((name) => {
    const folder = new URL(`../../../${name}/`, import.meta.url)
    return readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ file, source: readFileSync(new URL(file, folder), 'utf8') }))
  })
/** The workbench's script without its imports of packages, which the page's import map resolves. */
function makeWorkbenchPart() {
  const { text, hash } = makeWorkbenchScript()
  return { text: text.replace(/^import .*\n/gm, ''), hash }
}

/** The modules of other pages that the workbench imports too. */
const SHARED = ['api.ts', 'kept-fields.ts', 'problem.ts', 'question.ts', 'said.ts']

/** `most` is the maximum length of the script, in characters. */
const SCRIPTS = [
  { name: 'client', make: makeClientScript, modules: modulesIn('host/web/client'), without: ['line.ts'], most: 60_000 },
  {
    name: 'admin',
    make: makeAdminScript,
    modules: modulesIn('host/web/admin', 'base/web/scripts'),
    without: ['main.ts'],
    most: 80_000,
  },
  {
    name: 'workbench',
    make: makeWorkbenchPart,
    modules: [
      ...modulesIn('host/web/workbench'),
      ...modulesIn('base/web/scripts').filter(({ file }) => SHARED.includes(file)),
    ],
    without: [],
    most: 80_000,
  },
  {
    name: 'control center',
    make: () => makeScript(new URL('../../../control-center/web/scripts/main.ts', import.meta.url)),
    modules: modulesIn('control-center/web/scripts', 'base/web/scripts'),
    without: ['main.ts', 'login-preview.ts', 'oauth-steps.ts', 'provider-fields.ts'],
    most: 80_000,
  },
]

describe.each(SCRIPTS)('$name script', ({ make, modules, without, most }) => {
  const { text, hash } = make()

  test('the text is a single script without imports, exports or types', () => {
    expect(() => new Script(text)).not.toThrow()
    expect(text).not.toMatch(/^(import|export) /m)
    expect(text).not.toMatch(/\binterface \w+ \{/)
  })

  test('no two modules of the script have the same top-level name', () => {
    const names = modules
      .flatMap(({ source }) => [...source.matchAll(/^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)/gm)])
      .map(([, name]) => name)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    expect(names.length).toBeGreaterThan(30)
  })

  test('the script contains every module that has a function', () => {
    for (const { file, source } of modules) {
      const [, declared] = /^(?:export )?(?:async )?(function\*? \w+)/m.exec(source) ?? []
      if (!without.includes(file)) expect([file, text.includes(`${declared}(`)]).toEqual([file, true])
    }
  })

  test('removing comments changes nothing else: no text in a module looks like a comment', () => {
    for (const { file, source } of modules) {
      const tokens = [...tokenizer(withoutTypes(source), { ecmaVersion: 'latest', sourceType: 'module' })]
      const texts = tokens.flatMap((token) =>
        'value' in token && typeof token.value === 'string' ? [token.value] : [],
      )
      expect([file, texts.filter((one) => /^\s*\/[/*]/m.test(one))]).toEqual([file, []])
    }
    expect(text).not.toMatch(/^\s*(?:\/\/ [A-Z]|\/\*\*)/m)
  })

  test('the script needs nothing that the Content-Security-Policy forbids', () => {
    expect(text).not.toMatch(/\beval\(|new Function\(|\.innerHTML\s*=|insertAdjacentHTML|document\.write/)
    expect(text).not.toContain('</script')
  })

  test('the hash matches the script’s text, and the script is small', () => {
    expect(hash).toMatch(/^[\w-]{22}$/)
    expect(make()).toEqual({ text, hash })
    expect(text.length).toBeLessThan(most)
  })
})
