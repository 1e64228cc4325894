import type { Page } from 'playwright-core'
import type { Watched } from '../../support/client-browser.ts'
import { type Block, kindOf } from '../../support/guides/blocks.ts'
import { type Clone, checkPrinted, openClone, typeCommand } from '../../support/guides/clone.ts'
import { GOES_ON, type Step, stepsOf } from '../../support/guides/commands.ts'
import { followGuide, type Instruction } from '../../support/guides/follow.ts'
import { readPrinted } from '../../support/printed-start.ts'
import type { Terminal } from '../../support/terminal.ts'
import type { Album } from './page-album.ts'
import { addAdminPages, endWithCtrlC, FORM, greet, isOf, signIn, signInToAdmin } from './visits.ts'

const GUIDE = 'docs/first-solution.md'

/** A reader of the guide, and the output of their commands. */
type Reader = {
  readonly album: Album
  readonly clone: Clone
  readonly author: Terminal
  readonly host: Terminal
  readonly user: Watched
  /** The URL that `dev` printed. */
  running: string
  printed: ReturnType<typeof readPrinted>
  /** The URL that `deploy` printed. */
  deployed: string
}

/** Follows docs/first-solution.md: creates, changes and deploys a solution with its own login page. */
export async function followFirstSolution(album: Album): Promise<void> {
  using clone = await openClone()
  await using author = await clone.terminal()
  await using host = await clone.terminal()
  await using user = await album.open()
  const reader: Reader = { album, clone, author, host, user, running: '', printed: readPrinted(''), deployed: '' }
  await followGuide(GUIDE, instructions(reader), (block) => followBlock(reader, block))
  await endWithCtrlC(host)
}

async function followBlock(reader: Reader, block: Block): Promise<void> {
  const kind = kindOf(block)
  if (kind === 'folder') return reader.clone.write(block.words[0] as string, block.code)
  if (kind === 'commands') {
    for (const step of stepsOf(block)) await followStep(reader, step)
    return
  }
  const [claim = '', entered = ''] = block.words
  const { page } = reader.user
  if (claim === 'form') {
    const shown = await page.innerText(FORM)
    const missing = block.code.split('\n').find((line) => !shown.includes(line.trim()))
    if (missing !== undefined) throw new Error(`the form does not show "${missing}", but:\n${shown}`)
  } else if (claim === 'refused') {
    const fields = new URLSearchParams(entered)
    await signIn(page, fields.get('username') ?? '', fields.get('password') ?? '')
    await page.getByText(block.code.trim()).waitFor()
    await reader.album.add(reader.user, 'shop-sign-in-refused')
  } else if (claim === 'session') {
    const session = JSON.parse(await page.innerText('body')) as Record<string, unknown>
    for (const [key, value] of Object.entries(JSON.parse(block.code) as object)) {
      if (JSON.stringify(session[key]) !== JSON.stringify(value)) throw new Error(`the session has another "${key}"`)
    }
  } else throw new Error(`the first hour cannot follow a block "${block.words.join(' ')}"`)
}

async function followStep(reader: Reader, step: Step): Promise<void> {
  const { album, clone, author, host } = reader
  const command = clone.here(step.command)
  const expected = step.expected === null ? null : clone.here(step.expected)
  const name = `guide-${/solhost (\S+)/.exec(command)?.[1] ?? 'command'}`
  if (!GOES_ON.test(command)) {
    const screen = await typeCommand(author, command, reader.printed.adminPassword)
    album.addScreen(name, screen)
    checkPrinted({ command, expected }, screen)
    reader.deployed = /^ +address +(\S+)$/m.exec(screen)?.[1] ?? reader.deployed
    return
  }
  const isHost = command.includes('solhost start')
  const terminal = isHost ? host : author
  await terminal.type(command)
  const screen = await terminal.until(isHost ? 'Press Ctrl+C to stop it.' : 'Press Ctrl+C to stop.')
  album.addScreen(name, screen)
  checkPrinted({ command, expected }, screen, false)
  if (isHost) reader.printed = readPrinted(screen)
  else reader.running = / is running at (\S+)/.exec(screen)?.[1] ?? ''
}

/** The instructions between the guide's code blocks. */
function instructions(reader: Reader): readonly Instruction[] {
  const { album, clone, author, user } = reader
  const { page } = user
  return [
    [
      'To try it, remove a bracket from `shop/globals.js` and run the command again. The output shows the line and how to fix the error. Then put the bracket back.',
      () => breakAndFix(reader),
    ],
    [
      'Open the URL that the command prints.',
      async () => {
        await page.goto(reader.running)
        await album.add(user, 'dev', { inLanguages: true, ready: FORM })
      },
    ],
    [
      "Change the button's text in `shop/i18n/default.json` and save. The page updates immediately.",
      async () => {
        const file = 'shop/i18n/default.json'
        clone.write(file, clone.read(file).replace('"Greet me"', '"Say hello"'))
        await page.getByRole('button', { name: 'Say hello' }).waitFor()
        await album.add(user, 'dev-changed', { ready: FORM })
      },
    ],
    ['and errors with file and line. To stop, press Ctrl+C.', () => endWithCtrlC(author)],
    [
      'Open the URL, enter a name and press the button.',
      async () => {
        await greet(page, reader.deployed, 'Ada')
        await album.add(user, 'shop', { ready: FORM })
      },
    ],
    [
      'Open the URL again.',
      async () => {
        await page.goto(reader.deployed)
        await album.add(user, 'shop-sign-in', { inLanguages: true })
      },
    ],
    [
      'Sign in as `ada` with `seven green tractors`. Then open `http://127.0.0.1:8080/solution/shop/session`',
      async () => {
        await signIn(page, 'ada', 'seven green tractors')
        const enter = async (other: Page) => {
          await other.goto(reader.deployed)
          await signIn(other, 'ada', 'seven green tractors')
          await other.waitForSelector(FORM)
        }
        await album.add(user, 'shop-signed-in', { inLanguages: enter, ready: FORM })
        await page.goto(clone.here('http://127.0.0.1:8080/solution/shop/session'))
      },
    ],
    [
      '## Next steps',
      async () => {
        await using admin = await album.open()
        await signInToAdmin(album, admin, reader.printed)
        await addAdminPages(album, admin, (path) => isOf(path, 'shop'), `${reader.printed.pages}solutions/shop`)
      },
    ],
  ]
}

async function breakAndFix({ album, clone, author }: Reader): Promise<void> {
  const content = clone.read('shop/globals.js')
  clone.write('shop/globals.js', content.replace(/\}(?=[^}]*$)/, ''))
  const { code, screen } = await author.run('npx solhost check shop')
  album.addScreen('guide-check-error', screen)
  if (code !== 3 || !/globals\.js:\d+:\d+ +error script_syntax[\s\S]*→ /.test(screen)) {
    throw new Error(`check did not show the line and the fix:\n${screen}`)
  }
  clone.write('shop/globals.js', content)
}
