import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ONE_SPARE } from '../one-spare.ts'
import { openTerminal, type Terminal } from '../terminal.ts'
import { ROOT } from './blocks.ts'
import { addProgram, freePort, patternOf, type Step } from './commands.ts'

/** Files that commands may have created in this clone. A fresh clone doesn't contain them. */
const LEFT_OUT = new Set(['.git', 'build', 'coverage', 'control-center-data', 'data'])

export type Clone = Awaited<ReturnType<typeof openClone>>

/**
 * Creates a folder that looks like a fresh clone after `npm ci`. Its files are symbolic links to this clone's files. A
 * test can open terminals in it to follow a guide. Hosts in it use free ports, not the ports in the guide.
 */
export async function openClone() {
  const path = mkdtempSync(join(tmpdir(), 'solhost-clone-'))
  for (const name of readdirSync(ROOT)) if (!LEFT_OUT.has(name)) symlinkSync(join(ROOT, name), join(path, name))
  addProgram(path, 'npx')
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = {
    PATH: `${join(path, '.bin')}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    ...ONE_SPARE,
  }
  return {
    /** Replaces the ports in the guide's text with the ports that are used here. */
    here: (text: string) =>
      text.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`).replaceAll('127.0.0.1:8081', `127.0.0.1:${adminPort}`),
    terminal: () => openTerminal({ cwd: path, env }),
    read: (file: string) => readFileSync(join(path, file), 'utf8'),
    write(file: string, content: string) {
      mkdirSync(dirname(join(path, file)), { recursive: true })
      writeFileSync(join(path, file), content)
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
  }
}

/**
 * Types a command and waits until it exits. If the command prompts for the admin password, types that too.
 * @returns the command's output
 */
export async function typeCommand(terminal: Terminal, command: string, password = ''): Promise<string> {
  const isAsked = command.includes('--user admin')
  if (isAsked) {
    await terminal.type(command)
    await terminal.until(/Password for admin:$/)
  }
  const { code, screen } = await terminal.run(isAsked ? password : command)
  // Remove the first line, which echoes the command. A password is not echoed.
  const printed = isAsked ? screen : screen.replace(/^.*\n?/, '')
  if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${printed}`)
  return printed
}

/**
 * Compares a command's output with the guide.
 * @throws Error if they differ
 */
export function checkPrinted({ command, expected }: Step, printed: string, isWhole = true): void {
  if (expected === null || patternOf(expected, isWhole).test(`${printed}\n`)) return
  throw new Error(`"${command}" did not print what the guide shows:\n${printed}\nThe guide shows:\n${expected}`)
}
