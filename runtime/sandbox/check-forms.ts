import { Findings } from '../bundle/findings.ts'
import { jsonPlaces } from '../bundle/json-places.ts'
import { folderOf } from '../bundle/layout.ts'
import { parseStrictJson } from '../bundle/strict-json.ts'
import { checkForm } from '../forms/check-form.ts'
import type { FormDefinition } from '../forms/form-definition.ts'
import { isJsonObject } from '../json.ts'
import type { UploadFiles } from '../protocol.ts'
import { type TopLevelFunctions, topLevelFunctions } from './top-level-names.ts'

/** Maximum nesting depth of the JSON: enough for six levels of tabs, each of which needs eight levels of JSON. */
const MAX_DEPTH = 64

export type CheckedForms = {
  readonly found: Findings
  /** The forms' definitions; null for each form that has an error. */
  readonly forms: readonly (FormDefinition | null)[]
  /** The functions that each form script declares. */
  readonly functions: readonly TopLevelFunctions[]
}

const NO_FUNCTIONS: TopLevelFunctions = { names: [], bound: [] }

/**
 * @param scripts the form scripts without their types
 * @param faulty the files that already have an error. Functions that are missing in these files are not reported
 */
export function checkFormFiles(
  files: Pick<UploadFiles, 'forms' | 'formScripts' | 'i18n' | 'media' | 'permissions' | 'loginForm'>,
  scripts: readonly string[],
  i18n: readonly Readonly<Record<string, string>>[],
  faulty: ReadonlySet<string>,
): CheckedForms {
  const found = new Findings()
  const functions = files.formScripts.map(({ file }, index) => functionsOf(file, scripts[index] ?? '', faulty, found))
  const scriptOf = new Map(files.formScripts.map(({ module, form }, index) => [`${module ?? ''}/${form}`, index]))
  const surroundings = {
    texts: new Set(i18n.flatMap((table) => Object.keys(table))),
    defaultTexts: new Set(
      i18n.flatMap((table, index) => (files.i18n[index]?.locale === 'default' ? Object.keys(table) : [])),
    ),
    media: new Set(files.media),
    permissions: files.permissions === null ? null : new Set(files.permissions),
  }
  const forms = files.forms.map(({ module, form, file, source }) => {
    const value = readForm(file, source, found)
    if (value === undefined) return null
    const index = scriptOf.get(`${module ?? ''}/${form}`)
    const declared = index === undefined ? [] : (functions[index]?.names ?? null)
    return checkForm(
      value,
      file,
      {
        ...surroundings,
        script: (index === undefined ? null : files.formScripts[index]?.file) ?? `${folderOf(module)}forms/${form}.js`,
        hasScript: index !== undefined,
        functions: declared === null ? null : new Set(declared),
        isLoginForm: file === files.loginForm,
      },
      found,
      jsonPlaces(source),
    )
  })
  return { found, forms, functions: functions.map((declared) => declared ?? NO_FUNCTIONS) }
}

/**
 * Returns the functions that a form's script declares and that the form can use as handlers.
 * @returns null if the file has an error
 */
function functionsOf(
  file: string,
  source: string,
  faulty: ReadonlySet<string>,
  found: Findings,
): TopLevelFunctions | null {
  if (faulty.has(file)) return null
  const declared = topLevelFunctions(source)
  if (declared === null) {
    found.fault(file, 'script_syntax', 'the script cannot be analyzed; its code may be nested too deeply')
    return null
  }
  const canBeNamed = (name: string) => /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/.test(name)
  return { names: declared.names.filter(canBeNamed), bound: declared.bound.filter(canBeNamed) }
}

function readForm(file: string, source: string, found: Findings): object | undefined {
  const parsed = parseStrictJson(source, MAX_DEPTH)
  if ('error' in parsed) {
    const { message, ...place } = parsed.error
    found.fault(file, 'json_invalid', message, place)
    return undefined
  }
  if (isJsonObject(parsed.value)) return parsed.value
  found.fault(file, 'json_invalid', 'the file must contain one JSON object', { line: 1, column: 1 })
  return undefined
}
