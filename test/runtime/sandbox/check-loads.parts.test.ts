import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Checks an upload with these scripts in a new process. @returns the packages that the check loaded, by name */
function loadedFor(scripts: Readonly<Record<string, string>>): string[] {
  const code = `import { registerHooks } from 'node:module'
const loaded = new Set()
registerHooks({
  load(url, context, next) {
    loaded.add(/node_modules\\/([^/]+)/.exec(url)?.[1])
    return next(url, context)
  },
})
const { checkUpload } = await import('./runtime/sandbox/check-upload.ts')
const scripts = Object.entries(${JSON.stringify(scripts)}).map(([file, source]) => ({ module: null, file, source }))
const none = { formScripts: [], forms: [], i18n: [], loginTemplate: null }
const { faults } = await checkUpload({ scripts, ...none, isolateMemory: 64 * 1024 ** 2 })
process.stdout.write(JSON.stringify([faults, [...loaded]]))
process.exit()`
  const flags = ['--no-warnings', '--input-type=module']
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', code], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const [faults, loaded] = JSON.parse(stdout) as [unknown[], (string | null)[]]
  expect(faults).toEqual([])
  return loaded.filter((name) => name !== null)
}

const SIGN_IN = 'function onSolutionOpen() { security.login("a", "b", [plugins.http.fetch, application, i18n]) }'

test('checking a small upload loads no parser', () => {
  expect(loadedFor({ 'globals.js': SIGN_IN })).not.toContain('acorn')
  expect(loadedFor({ 'globals.js': `${SIGN_IN}\nglobals.onSolutionOpen` })).toContain('acorn')
  expect(loadedFor({ 'globals.js': `${SIGN_IN}\nplugins.dialogs` })).toContain('eslint-scope')
})
