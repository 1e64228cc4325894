import type { Fault, Warning } from '../bundle/faults.ts'
import { Findings, WHOLE_BUNDLE } from '../bundle/findings.ts'
import { jsonPlaces } from '../bundle/json-places.ts'
import { parseStrictJson } from '../bundle/strict-json.ts'
import { isJsonObject } from '../json.ts'
import type { CheckedFiles, UploadFiles } from '../protocol.ts'
import { type TextTable, warnOfPageTexts, warnOfTexts } from './check-texts.ts'
import { compileFault, createIsolate } from './isolate.ts'
import { warnOfReplacedNames } from './replaced-names.ts'
import { findScopes } from './script-scopes.ts'
import { stripTypes } from './strip-types.ts'

/**
 * Maximum number of texts in all translation files together. Chosen here: 5,000 texts in 20 languages. Each text uses
 * some of the host's time and memory, even if it is short.
 */
const MOST_TEXTS = 100_000

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
  const i18n = readTables(files.i18n, faults)
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

/** @returns null if the file has an error */
function readJsonObject({ file, source }: NamedSource, found: Findings): Record<string, unknown> | null {
  const parsed = parseStrictJson(source)
  if (!('error' in parsed) && isJsonObject(parsed.value)) return parsed.value
  const problem = { line: 1, column: 1, message: 'the file must contain one JSON object' }
  const { message, ...place } = 'error' in parsed ? parsed.error : problem
  found.fault(file, 'json_invalid', message, place)
  return null
}

function readTables(files: UploadFiles['i18n'], faults: Fault[]): readonly TextTable[] {
  const found = new Findings()
  const tables = files.map((file) => readTexts(file, found))
  const count = tables.reduce((total, table) => total + Object.keys(table).length, 0)
  const isTooMany = count > MOST_TEXTS
  if (isTooMany) {
    const message = `the translation files contain ${count} texts in total, and the maximum is ${MOST_TEXTS}: remove texts that are not used`
    found.fault(WHOLE_BUNDLE, 'i18n_invalid', message)
  }
  faults.push(...found.faults)
  return isTooMany ? tables.map(() => ({})) : tables
}

function readTexts(file: NamedSource, found: Findings): TextTable {
  const table = readJsonObject(file, found)
  if (table === null) return {}
  const entries = Object.entries(table)
  const places = jsonPlaces(file.source)
  for (const [key, text] of entries) {
    if (typeof text === 'string') continue
    const message = `the value of "${key.slice(0, 200)}" must be a string`
    // Find a position only if the error is listed, because each requires a scan of the file.
    found.fault(file.file, 'i18n_invalid', message, found.isFull ? {} : places.value([key]))
  }
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
