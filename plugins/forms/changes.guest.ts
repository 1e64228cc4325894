import type { Lists } from './lists.guest.ts'
import type { Api, Element, Form, Option, Part, Row } from './types.guest.ts'

export type Changes = ReturnType<typeof createChanges>

/** Changes the state of forms and elements, and records which changes must be sent to the host. */
export function createChanges({ list, record, safe }: Api, { idsOf }: Lists) {
  let changedForms = list<Form>()

  function note(form: Form): void {
    for (let index = 0; index < changedForms.length; index++) if (changedForms[index] === form) return
    changedForms[changedForms.length] = form
  }

  /**
   * The change is recorded before the value is set: a call can be terminated at any point, and the host must not miss a
   * change.
   */
  function setState(form: Form, part: Part, key: string, value: unknown): void {
    note(form)
    part.changed ??= record()
    const changed = part.changed as Record<string, unknown>
    if (!safe.hasOwn(changed, key)) changed[key] = part.state[key]
    part.state[key] = value
  }

  function change(form: Form, element: Element, key: string, value: unknown): void {
    if (key === 'rows') keepSelected(form, element, value as Row[])
    if (key === 'options') keepChoice(form, element, value as Option[])
    setState(form, element, key, value)
  }

  /** Only forms with a button that saves have unsaved input. */
  function setUnsaved(form: Form, unsaved: boolean): void {
    if (form.saves !== null && form.own.state.unsaved !== unsaved) setState(form, form.own, 'unsaved', unsaved)
  }

  function keepSelected(form: Form, element: Element, rows: readonly Row[]): void {
    const selected = element.state.selected as (string | number)[]
    const ids = idsOf(rows)
    const kept = list<string | number>()
    for (let index = 0; index < selected.length; index++) {
      const known = ids[`${selected[index] as string}`]
      if (known !== undefined) kept[kept.length] = known
    }
    if (kept.length < selected.length) change(form, element, 'selected', safe.freeze(safe.toArray(kept)))
  }

  function keepChoice(form: Form, element: Element, options: readonly Option[]): void {
    const { value } = element.state
    for (let index = 0; index < options.length; index++) if ((options[index] as Option).value === value) return
    if (value !== null) change(form, element, 'value', null)
  }

  return {
    note,
    setState,
    change,
    setUnsaved,
    forms: () => changedForms,
    forget(): void {
      changedForms = list()
    },
  }
}
