import { pieceOf } from './checks.guest.ts'
import type { Api, Element, Form, Part, Update } from './types.guest.ts'

export type Updates = ReturnType<typeof createUpdates>

/** Splits changes into commands that each fit the size limit. */
export function createUpdates(api: Api) {
  const { safe } = api
  const PIECE = pieceOf(api)

  /** @returns the error if the change could not be sent, or null */
  function send(form: Form, pack: Part[]): unknown {
    try {
      api.command('update', [updateOf(form, pack)])
      return null
    } catch (error) {
      for (let index = 0; index < pack.length; index++) goBack(pack[index] as Part)
      if (api.isQuotaError(error)) {
        const { path } = pack.length === 1 ? (pack[0] as Part) : form.own
        ;(error as Error).message = `${path}: the changes are too large for one call: ${(error as Error).message}`
      }
      return error
    }
  }

  function goBack(part: Part): void {
    const names = safe.keys(part.changed as object)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      part.state[name] = (part.changed as Record<string, unknown>)[name]
    }
    part.changed = null
  }

  function updateOf({ name, own }: Form, pack: Part[]): Update {
    const update: Update & { __proto__: null } = { __proto__: null, form: name, elements: api.record() }
    for (let index = 0; index < pack.length; index++) {
      const part = pack[index] as Part
      if (part === own) setOwn(update, own)
      else update.elements[(part as Element).definition.name] = valuesOf(name, part as Element)
    }
    return update
  }

  function setOwn(update: Update, { changed, state }: Part): void {
    if (safe.hasOwn(changed as object, 'title')) update.title = state.title
    if (safe.hasOwn(changed as object, 'unsaved')) update.unsaved = state.unsaved
  }

  /**
   * Returns the values for one command. If a list is too long, its first items are sent in separate commands, and this
   * command contains only the rest.
   */
  function valuesOf(form: string, { definition, changed, state }: Element): Record<string, unknown> {
    const values = api.record<unknown>()
    const keys = safe.keys(changed as object)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string
      const value = state[key]
      values[key] = safe.isArray(value) ? sendBeginning(form, definition.name, key, value) : value
    }
    return values
  }

  /** Sends the first items of a list in separate commands. @returns the remaining items, which fit in one command */
  function sendBeginning(form: string, element: string, property: string, items: unknown[]): unknown[] {
    let piece = api.list<unknown>()
    let size = 0
    for (let index = 0; index < items.length; index++) {
      const own = sizeOf(items[index])
      if (size + own > PIECE && piece.length > 0) {
        api.command('beginning', [{ form, element, property, items: piece }])
        piece = api.list()
        size = 0
      }
      piece[piece.length] = items[index]
      size += own
    }
    return piece
  }

  function sizeOfChanges({ changed, state }: Part): number {
    const keys = safe.keys(changed as object)
    let size = 0
    for (let index = 0; index < keys.length; index++) size += 20 + sizeOf(state[keys[index] as string])
    return size
  }

  /** Approximate size in characters of validated values: frozen lists, their items, texts and numbers. */
  function sizeOf(value: unknown): number {
    if (typeof value === 'string') return value.length + 3
    if (typeof value !== 'object' || value === null) return 8
    let size = 4
    if (safe.isArray(value)) {
      for (let index = 0; index < value.length; index++) size += sizeOf(value[index])
      return size
    }
    const names = safe.keys(value)
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string
      size += name.length + 4 + sizeOf((value as Record<string, unknown>)[name])
    }
    return size
  }

  return { send, sizeOfChanges }
}
