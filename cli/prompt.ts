import { CommandError } from '../base/terminal/command.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

/**
 * Prompts on the terminal for a secret, without echo.
 * @throws CommandError `interrupted` after Ctrl-C or Ctrl-D; the terminal's mode is always restored
 */
export async function askSecret(question: string): Promise<string> {
  const { stdin, stderr } = process
  // Set raw mode first: early input must not be echoed, and Ctrl-C must arrive as a key.
  stdin.setRawMode(true)
  stderr.write(question)
  stdin.setEncoding('utf8')
  const answer = Promise.withResolvers<string>()
  let typed = ''
  const read = (chunk: string) => {
    for (const character of chunk) {
      if (character === '\r' || character === '\n') return answer.resolve(typed)
      if (character === CTRL_C || character === CTRL_D) {
        return answer.reject(new CommandError('interrupted', 'Interrupted. Nothing was changed.'))
      }
      if (character === '\u007f' || character === '\b') typed = typed.slice(0, -1)
      else if (character >= ' ') typed += character
    }
  }
  stdin.on('data', read)
  try {
    return await answer.promise
  } finally {
    stdin.off('data', read)
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
