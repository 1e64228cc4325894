import { printable, type Terminal } from './terminal.ts'

/** A progress line on a terminal. It is erased at the end. Without a terminal, nothing is printed. */
export function partProgress(terminal: Terminal): {
  show(doing: string, name: string): void
  end(): void
} {
  let isShown = false
  const write = (text: string) => {
    // Moves to the start of the line and erases it.
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
