import type { Ask } from './questions.guest.ts'

export type Answer = { readonly state: Record<string, unknown>; readonly done: unknown }

/** The actions that a test can perform on an open client. The client's state is updated after each action. */
export function clientHandle(ask: Ask, id: number, first: Record<string, unknown>) {
  const client: Record<string, unknown> = {}
  async function act(what: string, method: string, args: readonly unknown[]): Promise<unknown> {
    const { state, done } = await ask<Answer>(method, [id, ...args], what)
    Object.assign(client, state)
    return done
  }
  const event = (what: string, type: string, element: unknown, value: unknown) =>
    act(what, 'event', [type, element, value ?? null])
  return Object.assign(client, first, {
    click: (element: unknown, row?: unknown) => event('client.click', 'onAction', element, row),
    type: (element: unknown, value: unknown) => event('client.type', 'onElementDataChange', element, value),
    select: (element: unknown, rows: unknown, selected: unknown = true) =>
      event('client.select', 'onRecordSelection', element, { rows: Array.isArray(rows) ? rows : [rows], selected }),
    fire: (type: string, element: unknown, value?: unknown) => event('client.fire', type, element, value),
    leave: () => act('client.leave', 'leave', []),
    confirm: () => act('client.confirm', 'confirm', []),
    refuse: () => act('client.refuse', 'refuse', []),
    call: (name: unknown, ...args: unknown[]) => act('client.call', 'call', [name, args]),
    wait: (milliseconds: unknown) => act('client.wait', 'wait', [milliseconds]),
    close: () => act('client.close', 'close', []),
  })
}
