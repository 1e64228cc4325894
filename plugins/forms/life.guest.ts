import type { Changes } from './changes.guest.ts'
import type { Elements } from './elements.guest.ts'
import { argsOf, type Events } from './events.guest.ts'
import type { Api, Showing } from './types.guest.ts'

/** Maximum number of forms that one call may show: while a form is being shown, its functions can show another form. */
const MOST_SHOWS = 10

/** Shows forms and fires their life-cycle events. */
export function createLife(
  api: Api,
  { formOf, usedForm, isForm, names }: Elements,
  { life }: Events,
  { setUnsaved }: Changes,
  showing: Showing,
  flush: () => void,
) {
  const { safe } = api

  async function show(name: string): Promise<void> {
    if (name === showing.current) return
    if (showing.current !== null) {
      const before = formOf(showing.current)
      if (showing.asks && before.own.state.unsaved === true) {
        api.command('leaving', [name])
        return
      }
      const { returned, agreed } = await life(before, 'onBeforeHide')
      if (returned === false || !agreed) return
      if (showing.isAgreed) setUnsaved(before, false)
      showing.isAgreed = false
      await life(before, 'onHide')
    }
    const form = formOf(name)
    const isFirst = !form.hasLoaded
    form.hasLoaded = true
    showing.current = name
    if (isFirst) await life(form, 'onLoad')
    await life(form, 'onShow', argsOf(isFirst))
  }

  async function showWanted(): Promise<void> {
    for (let shows = 0; showing.wanted !== null; shows++) {
      const name = showing.wanted
      showing.wanted = null
      if (shows >= MOST_SHOWS) {
        throw new safe.RangeError(
          `application.showForm: in one call, handlers showed more than ${MOST_SHOWS} forms; check for forms that keep showing each other`,
        )
      }
      await show(name)
    }
    flush()
  }

  async function close(): Promise<void> {
    for (let index = 0; index < names().length; index++) {
      const form = usedForm(names()[index] as string)
      if (form?.hasLoaded) await life(form, 'onUnload')
    }
  }

  function wish(name: string): boolean {
    if (!isForm(name)) return false
    const only = api.state()
    if (only !== null && name !== only) {
      throw new safe.TypeError(`application.showForm: nobody is signed in, so only the form ${only} can be shown`)
    }
    showing.wanted = name
    return true
  }

  /** Called once the user has agreed to leave the form without saving. */
  function leave(name: string): void {
    showing.isAgreed = wish(name)
  }

  return { showWanted, close, wish, leave }
}
