import type { Fault, Warning } from '../bundle/faults.ts'
import { jsonPlaces } from '../bundle/json-places.ts'
import { parseStrictJson } from '../bundle/strict-json.ts'
import { isJsonObject } from '../json.ts'
import type { CheckedFiles, UploadFiles } from '../protocol.ts'
import { warnOfPageTexts, warnOfTexts } from './check-texts.ts'
import { compileFault, createIsolate } from './isolate.ts'
import { warnOfReplacedNames } from './replaced-names.ts'
import { findScopes } from './script-scopes.ts'
import { stripTypes } from './strip-types.ts'

/**
 * Checks every file in an upload without running any of them: types, syntax, names, translations, forms, login page.
 */
export async function checkUpload(files: UploadFiles): Promise<CheckedFiles> {
  const faults: Fault[] = []
  const warnings: Warning[] = []
  const scripts = files.scripts.map((script) => prepareScript(script, faults))
  const formScripts = files.formScripts.map((script) => prepareScript(script, faults))
  findSyntaxFaults([...files.scripts, ...files.formScripts], [...scripts, ...formScripts], files.isolateMemory, faults)
  const withSources = <File extends NamedSource>(all: readonly File[], sources: readonly string[]) =>
    all.map((file, index) => ({ ...file, source: sources[index] ?? '' }))
  const ours = withSources(files.scripts, scripts)
  const ofForms = withSources(files.formScripts, formScripts)
  const scopes = await findScopes(ours, ofForms, faults)
  warnings.push(...(await warnOfReplacedNames(ours, ofForms)))
  const i18n = files.i18n.map((table) => readTexts(table, faults))
  const { forms, functions: formFunctions } = await checkForms(files, formScripts, i18n, faults, warnings)
  warnings.push(...warnOfTexts(files.i18n, i18n, new Set(faults.map(({ file }) => file))))
  const login = files.loginTemplate ? await checkTemplate(files.loginTemplate) : null
  if (login) warnings.push(...login.warnings)
  if (files.loginTemplate && login?.template)
    warnings.push(...(await warnOfPageTexts(files.loginTemplate, files.i18n, i18n)))
  const template = login?.template ?? null
  const realmNames = files.hardened ? await checkRealm(ours, files.hardened, scopes, faults) : undefined
  return {
    faults,
    warnings,
    scripts,
    scopes,
    formScripts,
    formFunctions,
    forms,
    i18n,
    template,
    ...(realmNames ? { realmNames } : {}),
  }
}

type NamedSource = { readonly module: string | null; readonly file: string; readonly source: string }

function prepareScript(script: NamedSource, faults: Fault[]): string {
  const stripped = stripTypes(script.file, script.source)
  if ('source' in stripped) return stripped.source
  faults.push(stripped.fault)
  return ''
}

function findSyntaxFaults(
  files: readonly NamedSource[],
  sources: readonly string[],
  memory: number,
  faults: Fault[],
): void {
  const isolate = createIsolate(memory)
  files.forEach(({ file }, index) => {
    const fault = compileFault(isolate, file, sources[index] ?? '')
    if (fault) faults.push(fault)
  })
  isolate.dispose()
}

// These libraries are loaded on first use: an HTML parser for login pages, a schema library for forms, and a parser and a
// scope analyser for JavaScript. Most uploads need few of them, and checks of plugins never need any. Loading them takes
// longer than checking a small upload.

/** Loads the libraries before an upload arrives. */
export async function getReady(): Promise<void> {
  await Promise.all([import('./check-forms.ts'), import('./free-names.ts'), import('../template/compile-template.ts')])
}

async function checkRealm(
  ...given: Parameters<typeof import('./realm-check.ts')['checkForRealm']>
): Promise<CheckedFiles['realmNames']> {
  const { checkForRealm } = await import('./realm-check.ts')
  return checkForRealm(...given)
}

async function checkTemplate({ source, file }: NonNullable<UploadFiles['loginTemplate']>) {
  const { compileTemplate } = await import('../template/compile-template.ts')
  return compileTemplate(source, file)
}

async function checkForms(
  files: UploadFiles,
  scripts: readonly string[],
  i18n: readonly Readonly<Record<string, string>>[],
  faults: Fault[],
  warnings: Warning[],
): Promise<{ forms: CheckedFiles['forms']; functions: CheckedFiles['formFunctions'] }> {
  if (files.forms.length === 0) return { forms: [], functions: files.formScripts.map(() => ({ names: [], bound: [] })) }
  const { checkFormFiles } = await import('./check-forms.ts')
  const checked = checkFormFiles(files, scripts, i18n, new Set(faults.map(({ file }) => file)))
  faults.push(...checked.found.faults)
  warnings.push(...checked.found.warnings)
  return checked
}

function readJsonObject({ file, source }: { file: string; source: string }, faults: Fault[]): Record<string, unknown> {
  const parsed = parseStrictJson(source)
  if ('error' in parsed) {
    faults.push({ code: 'json_invalid', file, ...parsed.error })
    return {}
  }
  if (isJsonObject(parsed.value)) return parsed.value
  faults.push({ code: 'json_invalid', file, line: 1, column: 1, message: 'the file must contain one JSON object' })
  return {}
}

function readTexts(table: { file: string; source: string }, faults: Fault[]): Record<string, string> {
  const before = faults.length
  const entries = Object.entries(readJsonObject(table, faults))
  if (faults.length > before) return {}
  const wrong = entries.filter(([, text]) => typeof text !== 'string')
  const places = jsonPlaces(table.source)
  for (const [index, [key]] of wrong.entries()) {
    const message = `the value of "${key.slice(0, 200)}" must be a string`
    // Find the positions of only the first 100 errors, because each requires a scan of the file.
    faults.push({ code: 'i18n_invalid', file: table.file, ...(index < 100 ? places.value([key]) : {}), message })
  }
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
