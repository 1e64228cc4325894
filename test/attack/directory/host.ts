import { setTimeout as wait } from 'node:timers/promises'
import { type Call, command, type Plugin, request } from '../../../runtime/plugin.ts'
import { z } from '../../../runtime/zod.ts'

/** How long a lookup of the name `slow` takes, in ms. */
const SLOW = 100

/** An operator's plugin with both a command and a request, because no built-in plugin has both. */
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
