import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDERS = ['runtime', 'plugins', 'base', 'host', 'control-center', 'cli']

/**
 * The folders that each folder may import from: base → plugins → runtime; plugins never import each other. Both
 * services, the host and the control center, build on base and do not import each other. The command line builds on the
 * host.
 */
const MAY_IMPORT: Record<string, (file: string, target: string) => boolean> = {
  runtime: (_file, target) => target.startsWith('runtime/'),
  plugins: (file, target) => target.startsWith('runtime/') || dirname(target) === dirname(file),
  base: (_file, target) => /^(?:runtime|plugins|base)\//.test(target),
  host: (_file, target) => !/^(?:control-center|cli)\//.test(target),
  'control-center': (_file, target) => !/^(?:host|cli)\//.test(target),
  cli: (_file, target) => !target.startsWith('control-center/'),
}

/**
 * The subfolders, in order. A subfolder may import only from those before it, types included. Files directly in `base`,
 * `host` and `control-center` come last.
 */
const ORDER: Record<string, readonly string[]> = {
  base: [
    'program',
    'protocol',
    'database',
    'config',
    'work',
    'mail',
    'web',
    'http',
    'tls',
    'outbound',
    'accounts',
    'api',
    'oauth',
    'bundles',
    'backup',
    'terminal',
  ],
  host: [
    'database',
    'config',
    'web',
    'access',
    'pages',
    'solutions',
    'http',
    'audit',
    'tokens',
    'sessions',
    'settings',
    'secrets',
    'grants',
    'directories',
    'outbound',
    'password-hashes',
    'solution-databases',
    'debugger',
    'links',
    'users',
    'maintenance',
    'testing',
    'endpoints',
    'jobs',
    'login',
    'second-step',
    'self-service',
    'admin-factors',
    'oauth',
    'cloud',
    'login-pages',
    'telemetry',
    'health',
    'clients',
    'solution-tests',
    'drafts',
    'workbench',
  ],
  'control-center': [
    'database',
    'access',
    'web',
    'pages',
    'signing',
    'mail',
    'registries',
    'organisations',
    'accounts',
    'second-step',
    'environments',
    'satellites',
    'packages',
    'desired',
    'pipelines',
    'rollouts',
    'login-pages',
    'solution-users',
    'telemetry',
    'start',
    'migrations',
    'config',
    'backup',
  ],
}

type Import = { readonly file: string; readonly line: string; readonly target: string; readonly isType: boolean }

const sources = FOLDERS.flatMap((folder) =>
  (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
)

const imports: Import[] = sources.flatMap((file) =>
  [
    ...readFileSync(join(ROOT, file), 'utf8').matchAll(
      /^(?:import|export)[^'"]*?from '([^']+)'|^import '([^']+)'|import\('([^']+)'\)/gm,
    ),
  ].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? ''
    const target = specifier.startsWith('.') ? relative(ROOT, resolve(ROOT, dirname(file), specifier)) : specifier
    return { file, line: match[0], target, isType: /^(import|export) type/.test(match[0]) }
  }),
)

test('the check finds the source files', () => {
  expect(sources.length).toBeGreaterThan(50)
  expect(imports.length).toBeGreaterThan(100)
})

test('imports go one way: host and control center → base → plugins → runtime, and plugins do not import each other', () => {
  const wrong = imports.filter(
    ({ file, target }) =>
      FOLDERS.some((folder) => target.startsWith(`${folder}/`)) &&
      !MAY_IMPORT[file.split('/')[0] ?? '']?.(file, target),
  )
  expect(wrong).toEqual([])
})

test('only sandbox processes load isolated-vm', () => {
  const importers = imports.filter(({ target }) => target === 'isolated-vm')
  expect(importers.map(({ file, isType }) => `${file} ${isType}`).sort()).toEqual([
    'runtime/sandbox/isolate.ts true',
    'runtime/sandbox/load-isolated-vm.ts true',
  ])
  // The host only resolves its path and passes it to the sandbox process.
  const naming = sources.filter((file) => /'isolated-vm'|dlopen\(/.test(readFileSync(join(ROOT, file), 'utf8')))
  expect(naming.sort()).toEqual([
    'runtime/build-program.ts',
    'runtime/sandbox-process.ts',
    'runtime/sandbox/isolate.ts',
    'runtime/sandbox/load-isolated-vm.ts',
  ])
})

test('only runtime/zod.ts imports zod, which throws on some values from outside', () => {
  const importers = imports.filter(({ target }) => target === 'zod').map(({ file }) => file)
  expect(importers).toEqual(['runtime/zod.ts'])
})

test('files named guest.ts import only types, except from guest files in the same folder', () => {
  const guests = imports.filter(({ file, isType }) => file.endsWith('guest.ts') && !isType)
  const isBeside = (file: string, target: string) => target.endsWith('.guest.ts') && dirname(target) === dirname(file)
  expect(guests.filter(({ file, target }) => !isBeside(file, target))).toEqual([])
  expect(sources.filter((file) => file.endsWith('guest.ts')).length).toBeGreaterThan(4)
})

test('libraries that most processes do not need are imported on first use', () => {
  const onFirstUse = ['csv-parse', 'csv-stringify/sync', 'diff', 'jose', 'nodemailer', 'openid-client']
  const importers = imports.filter(
    ({ file, line, target, isType }) =>
      onFirstUse.includes(target) && !isType && !line.startsWith('import(') && !file.startsWith('control-center/'),
  )
  // `createTokenRequestsOnDemand` imports token-requests.ts on first use.
  expect(importers.map(({ file }) => file)).toEqual(['host/oauth/token-requests.ts'])
})

test('the runtime does not import HTTP modules', () => {
  const http = /^(koa|@koa\/|node:https?$|node:http2$|raw-body|ws$)/
  expect(imports.filter(({ file, target }) => file.startsWith('runtime/') && http.test(target))).toEqual([])
})

test('base and host import nothing from runtime/sandbox, except types for guest files', () => {
  const host = imports.filter(
    ({ file, target, isType }) =>
      /^(?:base|host)\//.test(file) &&
      target.startsWith('runtime/sandbox/') &&
      // The globals of test files also run inside an isolate (host/solution-tests/).
      !(isType && /[/.]guest\.ts$/.test(file)),
  )
  expect(host).toEqual([])
})

/** @returns the position of the file's folder in the order for `top`; infinity for files directly in `top` */
function placeOf(top: string, file: string): number {
  const [, folder = '', ...below] = file.split('/')
  return below.length === 0 ? Number.POSITIVE_INFINITY : (ORDER[top] ?? []).indexOf(folder)
}

test.each(Object.keys(ORDER))('the list contains all folders in %s', (top) => {
  const folders = sources.filter((file) => file.startsWith(`${top}/`)).map((file) => file.split('/').slice(1, -1)[0])
  expect(new Set(folders.filter((folder) => folder !== undefined))).toEqual(new Set(ORDER[top]))
})

test.each(Object.keys(ORDER))('no import in %s violates the folder order', (top) => {
  const inside = imports.filter(({ file, target }) => file.startsWith(`${top}/`) && target.startsWith(`${top}/`))
  const wrong = inside.filter(({ file, target }) => placeOf(top, target) > placeOf(top, file))
  expect(wrong.map(({ file, target }) => `${file} → ${target}`)).toEqual([])
  expect(inside.length).toBeGreaterThan(100)
})

test('there are no import cycles, type imports included', () => {
  const left = new Map(sources.map((file) => [file, new Set<string>()]))
  for (const { file, target } of imports) if (left.has(target)) left.get(file)?.add(target)
  // Files that import none of the remaining files, or are imported by none of them, are not part of a cycle. Once such
  // files are removed, only cycles and the files between two cycles are left.
  for (let before = 0; before !== left.size; ) {
    before = left.size
    for (const [file, targets] of left) {
      const importsNone = [...targets].every((target) => !left.has(target))
      if (importsNone || [...left.values()].every((others) => !others.has(file))) left.delete(file)
    }
  }
  expect([...left.keys()]).toEqual([])
})
