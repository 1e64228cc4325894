import { setTimeout as wait } from 'node:timers/promises'
import { type Call, command, type Plugin, request } from '../../../runtime/plugin.ts'
import { z } from '../../../runtime/zod.ts'

/** The time that a lookup of the name `slow` takes, in ms. */
const SLOW = 100

/**
 * A plugin like those that operators add, with a command and a request. The attack scripts use both, because their
 * effects are easy to check.
 */
export function directory(onNote: (call: Call, text: string) => void): Plugin {
  return {
    name: 'directory',
    guest: new URL('guest.ts', import.meta.url),
    commands: { note: command(z.tuple([z.string().max(100)]), (call, [text]) => onNote(call, text)) },
    requests: {
      find: request(
        z.tuple([z.string()]),
        async (_call, [name]) => {
          if (name === 'fails') throw new Error('a secret of the host')
          if (name === 'slow') await wait(SLOW)
          return { name, groups: ['Users'] }
        },
        { changes: false },
      ),
    },
  }
}
