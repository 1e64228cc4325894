import type { Findings } from '../bundle/findings.ts'
import { showName } from '../bundle/findings.ts'
import type { JsonPlace, JsonPlaces } from '../bundle/json-places.ts'
import { PLATFORM_KEYS } from '../bundle/layout.ts'
import { nearestKey } from '../bundle/nearest-key.ts'
import { pathName } from '../bundle/quote.ts'
import { type ElementDefinition, FORM_HANDLERS, type FormDefinition, type Layout, type Tab } from './form-definition.ts'
import { handlersOf } from './form-schema.ts'

/** The names and files that a form may refer to. */
export type FormSurroundings = {
  /** The path of the form's script, even if the script does not exist: `forms/orders.js`. */
  readonly script: string
  /** The functions that the script declares; empty if there is no script, null if they are unknown. */
  readonly functions: ReadonlySet<string> | null
  readonly hasScript: boolean
  /** The keys of all i18n tables together. */
  readonly texts: ReadonlySet<string>
  /** The keys of the tables that are used if the user's language has no text. */
  readonly defaultTexts: ReadonlySet<string>
  /** The paths of the files in `media/`. */
  readonly media: ReadonlySet<string>
  /** Null if no manifest lists permissions; then any name may be granted. */
  readonly permissions: ReadonlySet<string> | null
  /** Whether users sign in with this form. */
  readonly isLoginForm: boolean
}

/** Properties that every form has, such as `forms.<name>.elements`. They would hide a function with the same name. */
const OWN_NAMES = ['elements', 'title', 'getName'] as const

/**
 * Maximum number of names to compare. Chosen here: a malicious script could declare tens of thousands of functions, and
 * it takes time to compare names.
 */
const MAX_COMPARED = 200

type Part = { readonly path: readonly PropertyKey[]; readonly part: ElementDefinition | Tab }

/** @returns whether there are no errors */
export function checkReferences(
  form: FormDefinition,
  file: string,
  surroundings: FormSurroundings,
  found: Findings,
  places: JsonPlaces,
): boolean {
  const { functions, texts, defaultTexts, media, permissions } = surroundings
  let isSound = true
  const names = new Map<string, readonly PropertyKey[]>()
  const warned = new Set<string>()

  for (const event of FORM_HANDLERS) checkHandler([event], form[event])
  checkText(form.title)
  if (surroundings.isLoginForm && form.permission !== undefined) {
    isSound = false
    const message =
      '"permission" is not allowed in the login form, because users have no permissions before they sign in; remove it'
    found.fault(file, 'form_invalid', message, found.isFull ? {} : places.key(['permission']))
  } else checkPermission(form.permission)
  const buttons: string[] = []
  for (const { path, part } of partsOf(form.layout, ['layout'])) {
    const first = names.get(part.name)
    if (first === undefined) names.set(part.name, path)
    else {
      isSound = false
      const message = `${pathName(path)} has the same name "${part.name}" as ${pathName(first)}; names of elements and tabs must be unique in a form`
      found.fault(file, 'form_name_twice', message, found.isFull ? {} : places.value([...path, 'name']))
    }
    for (const text of textsOf(part)) checkText(text)
    checkPermission(part.permission)
    if (!('type' in part)) continue
    const written: Readonly<Record<string, unknown>> = part
    for (const event of handlersOf(part.type)) {
      const handler = written[event]
      if (typeof handler === 'string') checkHandler([...path, event], handler, part.name)
    }
    if (part.type === 'image') checkImage(part.src)
    if (part.type === 'button') buttons.push(part.name)
  }
  checkSaves(form.saves)
  for (const name of form.saves === undefined ? OWN_NAMES : [...OWN_NAMES, 'unsaved']) {
    if (!functions?.has(name)) continue
    const which = name === 'unsaved' ? 'a form with "saves"' : 'every form'
    const message = `the function "${name}" cannot be called through the form, because ${which} has a built-in "${name}"; rename the function`
    found.warn(surroundings.script, 'form_function_hidden', message)
  }
  return isSound

  function checkHandler(path: readonly PropertyKey[], name: string | undefined, element?: string): void {
    if (name === undefined || functions === null || functions.has(name)) return
    isSound = false
    const where = element === undefined ? pathName(path) : `${pathName(path)} (${element})`
    const nearest = found.isFull ? null : nearestKey(name, [...functions].slice(0, MAX_COMPARED))
    const why = surroundings.hasScript
      ? `which ${surroundings.script} does not declare at its top level${nearest === null ? '' : `; did you mean "${nearest}"?`}`
      : `but there is no ${surroundings.script}`
    const message = `${where} names the function "${name}", ${why}`
    found.fault(file, 'form_function_missing', message, found.isFull ? {} : places.value(path))
  }

  function checkSaves(name: string | undefined): void {
    if (name === undefined || buttons.includes(name)) return
    isSound = false
    const nearest = nearestKey(name, buttons.slice(0, MAX_COMPARED))
    const meant = nearest === null ? '' : `; did you mean "${nearest}"?`
    const message = `"saves" names the button "${name}", which the form does not have${meant}`
    found.fault(file, 'form_invalid', message, found.isFull ? {} : places.value(['saves']))
  }

  function checkText(text: string | undefined): void {
    if (text === undefined || !text.startsWith('i18n:')) return
    const key = text.slice('i18n:'.length)
    if (defaultTexts.has(key) || key.startsWith(PLATFORM_KEYS) || isKnown(text)) return
    const message = texts.has(key)
      ? `no default.json contains the key "${showName(key)}", so users whose language has no translation see "!${showName(key)}!"`
      : `no file in i18n/ contains the key "${showName(key)}"`
    found.warn(file, 'form_text_missing', message, placeOfText(text))
  }

  function checkPermission(permission: string | undefined): void {
    if (permission === undefined || permissions === null || permissions.has(permission)) return
    if (isKnown(`permission ${permission}`)) return
    const nearest = found.isFullOfWarnings ? null : nearestKey(permission, [...permissions].slice(0, MAX_COMPARED))
    const meant = nearest === null ? '' : `; did you mean "${showName(nearest)}"?`
    const message = `no manifest lists the permission "${showName(permission)}", so nobody can have it${meant}`
    found.warn(file, 'form_permission_unlisted', message, placeOfText(permission))
  }

  function checkImage(src: string): void {
    if (media.has(src) || isKnown(`image ${src}`)) return
    const advice = src.startsWith('media/') ? '; write the path without "media/"' : ''
    found.warn(file, 'form_image_missing', `the file media/${showName(src)} does not exist${advice}`, placeOfText(src))
  }

  function placeOfText(text: string): JsonPlace {
    return found.isFullOfWarnings ? {} : places.text(text)
  }

  /**
   * Whether there is already a warning about `what`; if not, records `what`. The same key may be used in a hundred
   * places, so one warning is enough.
   */
  function isKnown(what: string): boolean {
    if (warned.has(what)) return true
    warned.add(what)
    return false
  }
}

function* partsOf(layout: Layout, path: readonly PropertyKey[]): Generator<Part> {
  for (const [row, { columns }] of layout.entries()) {
    for (const [column, { elements }] of columns.entries()) {
      for (const [index, element] of elements.entries()) {
        const here = [...path, row, 'columns', column, 'elements', index]
        yield { path: here, part: element }
        if (element.type === 'panel') yield* partsOf(element.layout, [...here, 'layout'])
        if (element.type !== 'tabs') continue
        for (const [tab, part] of element.tabs.entries()) {
          yield { path: [...here, 'tabs', tab], part }
          yield* partsOf(part.layout, [...here, 'tabs', tab, 'layout'])
        }
      }
    }
  }
}

/** Returns the texts shown to the user, without those of nested elements. */
function textsOf(part: ElementDefinition | Tab): readonly (string | undefined)[] {
  if (!('type' in part)) return [part.label]
  return [
    part.label,
    part.hint,
    ...('placeholder' in part ? [part.placeholder] : []),
    ...('alt' in part ? [part.alt] : []),
    ...('options' in part ? part.options.map(({ label }) => label) : []),
    ...('columns' in part
      ? part.columns.flatMap(({ label, badges = [] }) => [label, ...badges.map((badge) => badge.label)])
      : []),
  ]
}
