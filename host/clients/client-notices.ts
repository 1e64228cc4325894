import type { ClientState } from './client-state.ts'

/** Sends frames that tell the user or the page what happens in a client. */
export interface ClientNotices {
  /**
   * Tells the user that an action failed.
   * @param reference an id that the user can give to support
   */
  sayFailed(reference: string, key?: string): void
  /**
   * Tells the user that a button press was lost because the script context ended. The press is not repeated, because
   * the form starts over in the new context. The loss is reported once per context.
   */
  sayUndone(mayBeDone?: boolean): void
  goTo(href: string, target: string | null | undefined): void
  /** Runs work that the browser did not request. Meanwhile, the page shows that it is busy. */
  asBusy(task: () => Promise<void>): Promise<void>
}

export function createClientNotices(state: ClientState): ClientNotices {
  const { send } = state.outbox
  /** The latest generation in which a lost button press was reported to the user. */
  let undoneIn = -1
  return {
    sayFailed(reference, key = 'platform.client.failed') {
      send({ kind: 'message', text: state.screen.text(key, [reference]), level: 'error' })
    },
    sayUndone(mayBeDone = false) {
      if (state.isOver || undoneIn === state.generation) return
      undoneIn = state.generation
      const text = state.screen.text(mayBeDone ? 'platform.client.maybedone' : 'platform.client.undone')
      send({ kind: 'message', text, level: 'warning' })
    },
    goTo(href, target) {
      send({ kind: 'go', href, ...(target ? { target } : {}) })
    },
    async asBusy(task) {
      send({ kind: 'busy' })
      await task()
      send({ kind: 'idle', seq: state.handled })
    },
  }
}
