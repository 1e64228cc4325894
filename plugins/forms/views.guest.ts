import type { Changes } from './changes.guest.ts'
import type { Checks } from './checks.guest.ts'
import type { Elements } from './elements.guest.ts'
import type { Properties } from './properties.guest.ts'
import type { Strict } from './strict.guest.ts'
import type { Api, Element, Form, Run } from './types.guest.ts'

type Parts = {
  readonly strict: Strict
  readonly checks: Checks
  readonly properties: Properties
  readonly elements: Elements
  readonly changes: Changes
}

export type Views = ReturnType<typeof createViews>

/** The global `forms` for scripts, including the functions that the forms' scripts declare. */
export function createViews(api: Api, { strict: objects, checks, properties, elements, changes }: Parts) {
  const { safe } = api
  const { strict, readOnly, define } = objects
  const { readText, fail } = checks
  const { readProperty } = properties
  const { formOf, elementOf, savesOf } = elements
  const { setState, change, setUnsaved } = changes
  const views = api.record<object>()
  const scripts = api.record<Record<string, Run>>()

  function viewOf(name: string): object {
    const known = views[name]
    if (known !== undefined) return known
    const path = `forms.${name}`
    const target = api.record()
    const names = api.list<string>()
    names[0] = 'elements'
    names[1] = 'title'
    names[2] = 'getName'
    define(target, 'elements', () => elementsViewOf(formOf(name)))
    safe.defineProperty(target, 'getName', { value: safe.freeze(() => name), enumerable: true })
    const setTitle = (value: unknown): void => {
      const form = formOf(name)
      setState(form, form.own, 'title', readText(`${path}.title`, value, 2000, false))
    }
    define(target, 'title', () => formOf(name).own.state.title, setTitle)
    const mark = (value: unknown): void =>
      setUnsaved(formOf(name), typeof value === 'boolean' ? value : fail(`${path}.unsaved`, 'true or false', value))
    const isSaved = savesOf(name) !== null
    if (isSaved) {
      names[3] = 'unsaved'
      define(target, 'unsaved', () => formOf(name).own.state.unsaved, mark)
    }
    const set = (key: string, value: unknown): void => {
      if (key === 'title') setTitle(value)
      else if (key === 'unsaved' && isSaved) mark(value)
      else readOnly(path)(key)
    }
    // Scripts can get this view before the form's script is loaded, so it looks up functions only when they are read.
    const view = strict(target, path, names, set, (key) => {
      const functions = scripts[name]
      return functions === undefined ? undefined : functions[key]
    })
    views[name] = view
    return view
  }

  function elementsViewOf(form: Form): object {
    if (form.elementsView !== null) return form.elementsView
    const { names } = form
    const target = api.record()
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      let view: object | null = null
      define(target, name, () => {
        view ??= elementView(form, elementOf(form, name) as Element)
        return view
      })
    }
    const path = `forms.${form.name}.elements`
    form.elementsView = strict(target, path, names, readOnly(path))
    return form.elementsView
  }

  function elementView(form: Form, element: Element): object {
    const target = api.record()
    const names = safe.keys(element.state)
    const set = (key: string, value: unknown): void => change(form, element, key, readProperty(element, key, value))
    for (let index = 0; index < names.length; index++) {
      const key = names[index] as string
      define(
        target,
        key,
        () => element.state[key],
        (value) => set(key, value),
      )
    }
    return strict(target, element.path, names, set)
  }

  /** Wraps a function so that `this` is the form if it is called without a receiver. */
  function bindTo(view: object): (run: Run) => Run {
    const apply = (run: Run, receiver: unknown, args: unknown[]): unknown =>
      safe.apply(run, receiver === undefined ? view : receiver, args)
    return safe.freeze((run: Run) => {
      const bound = safe.proxy(run, { __proto__: null, apply } as ProxyHandler<Run>)
      const { prototype } = run as { prototype?: object }
      // Async functions have no prototype, and a generator's prototype has no constructor.
      if (prototype !== undefined && safe.hasOwn(prototype, 'constructor')) {
        safe.defineProperty(prototype, 'constructor', { value: bound, writable: true, configurable: true })
      }
      return bound
    })
  }

  return {
    viewOf,
    /** The functions of the form's script; undefined until it is loaded. */
    functionsOf: (form: string): Record<string, Run> | undefined => scripts[form],
    nameOf(value: unknown): string | null {
      const names = safe.keys(views)
      for (let index = 0; index < names.length; index++)
        if (views[names[index] as string] === value) return names[index] ?? null
      return null
    },
    runScript(name: string, script: () => unknown): void {
      const view = viewOf(name)
      const args = api.list<unknown>()
      args[0] = bindTo(view)
      scripts[name] = safe.apply(script, view, args) as Record<string, Run>
    },
    defineForms(): void {
      const names = elements.names()
      const target = api.record()
      for (let index = 0; index < names.length; index++) {
        const name = names[index] as string
        define(target, name, () => viewOf(name))
      }
      api.defineGlobal('forms', strict(target, 'forms', names, readOnly('forms')))
    },
  }
}
