import { printable, type Terminal } from './terminal.ts'

/** One line of a terminal that says what is being done, and is gone at the end. Elsewhere nothing is said. */
export function partProgress(terminal: Terminal): {
  show(doing: string, name: string): void
  end(): void
} {
  let isShown = false
  const write = (text: string) => {
    // Back to the line's beginning, and the rest of it away.
    if (terminal.isInteractive) terminal.err(`\r\x1b[K${text}`)
  }
  return {
    show(doing, name) {
      isShown = true
      write(`${doing} ${printable(name).slice(0, 60)}`)
    },
    end() {
      if (isShown) write('')
      isShown = false
    },
  }
}
