// Builds the npm package into build/package/: the project's tree with JavaScript in place of TypeScript, because
// Node.js does not strip types in node_modules. Types are replaced by white space, so lines and columns are the same as
// in the sources. Stack traces from an installed package are therefore correct without source maps.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EMBEDDED_MAIN } from '../host/solution-databases/embedded-child.ts'
import { programFile } from '../runtime/program-file.ts'
import { SANDBOX_MAIN } from '../runtime/sandbox-process.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = join(ROOT, 'build', 'package')
/** Everything that the programs read at run time. */
const FOLDERS = ['base', 'bin', 'cli', 'control-center', 'host', 'plugins', 'runtime', 'solutions']
const TEXTS = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md']
/** These folders are copied unchanged. Customers' bundles may contain TypeScript, so our examples may too. */
const AS_IS = ['solutions/', 'base/bundles/new-solution/']
/** Tools that are only used in the repository. */
const LEFT_OUT = [
  'bin/build.ts',
  'bin/package.ts',
  'bin/release.ts',
  'bin/release-parts.ts',
  'bin/with-node.js',
  'runtime/build-program.ts',
]
/** The file that plugin authors import types from, as `solhost/plugin`. */
const PLUGIN_TYPES = 'runtime/plugin.ts'

/** Matches the relative path of a TypeScript module in an import statement, a dynamic import or a re-export. */
const IMPORTED = /\b((?:from|import)\s*\(?\s*'\.{1,2}\/[^'\n]+)\.ts'/g
/** Matches the URL of a TypeScript file relative to the module, such as a program for a worker thread. */
const BESIDE = /(new URL\('[^'\n]+)(?<!\.d)\.ts', import\.meta\.url\)/g

rmSync(OUT, { recursive: true, force: true })
for (const file of TEXTS) place(file)
for (const folder of FOLDERS) for (const file of filesIn(folder)) place(file)
writeJson('package.json', packageJson())
writeJson('npm-shrinkwrap.json', shrinkwrap())
cpSync(join(ROOT, 'build', 'site'), join(OUT, 'build', 'site'), { recursive: true })
for (const main of [SANDBOX_MAIN, EMBEDDED_MAIN]) {
  const folder = dirname(programFile(main))
  cpSync(folder, join(OUT, 'build', basename(dirname(fileURLToPath(main)))), { recursive: true })
}
declareTypes()

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
    .filter((file) => !LEFT_OUT.includes(file))
    .sort()
}

function place(file: string): void {
  const isCode = file.endsWith('.ts') && !file.endsWith('.d.ts') && !AS_IS.some((folder) => file.startsWith(folder))
  const target = join(OUT, isCode ? file.replace(/\.ts$/, '.js') : file)
  mkdirSync(dirname(target), { recursive: true })
  if (isCode) writeFileSync(target, toJavaScript(readFileSync(join(ROOT, file), 'utf8')))
  else cpSync(join(ROOT, file), target)
}

function toJavaScript(source: string): string {
  return stripTypeScriptTypes(source, { mode: 'strip' })
    .replace(IMPORTED, "$1.js'")
    .replace(BESIDE, "$1.js', import.meta.url)")
    .replace(/[^\S\n]+$/gm, '')
}

function packageJson(): Record<string, unknown> {
  const { name, version, description, license, type, bin, engines, dependencies, optionalDependencies } =
    readJson('package.json')
  const exports = { './plugin': './runtime/plugin.js', './package.json': './package.json' }
  const files = [...FOLDERS, 'build', ...TEXTS, 'npm-shrinkwrap.json']
  return { name, version, description, license, type, bin, engines, exports, files, dependencies, optionalDependencies }
}

/** npm installs exactly the versions that our tests ran with, for indirect dependencies too. */
function shrinkwrap(): Record<string, unknown> {
  const { packages, ...lock } = readJson('package-lock.json')
  const all = Object.entries(packages as Record<string, { readonly dev?: boolean; readonly link?: boolean }>)
  const installed = all.filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
  return { ...lock, packages: { '': packageJson(), ...Object.fromEntries(installed.map(withoutScript)) } }
}

/**
 * isolated-vm's install script compiles it if there is no prebuilt binary for the Node.js that runs npm. Solhost runs
 * it with its own Node.js, which has a prebuilt binary, so npm must not run the script.
 */
function withoutScript<Entry extends object>([path, entry]: [string, Entry]): [string, object] {
  if (path !== 'node_modules/isolated-vm') return [path, entry]
  return [path, { ...entry, hasInstallScript: undefined, gypfile: false }]
}

function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Record<string, unknown>
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(join(OUT, file), `${JSON.stringify(value, null, 2)}\n`)
}

function declareTypes(): void {
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--rootDir', ROOT, '--outDir', OUT]
  const own = ['--target', 'esnext', '--module', 'nodenext', '--skipLibCheck', '--rewriteRelativeImportExtensions']
  execFileSync(
    process.execPath,
    [compiler, '--ignoreConfig', ...options, ...own, '--types', 'node', join(ROOT, PLUGIN_TYPES)],
    {
      cwd: ROOT,
      stdio: 'inherit',
    },
  )
}
