import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'
import { temporaryFolder } from '../support/cli.ts'
import { readPrinted } from '../support/printed-start.ts'
import { openTerminal, tmuxPath } from '../support/terminal.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PASSWORD = 'seven green tractors'

/** Sets up the folder as `npm install <clone>` would, so that `npx solhost` uses this clone. */
function installInto(folder: string): void {
  mkdirSync(join(folder, 'node_modules', '.bin'), { recursive: true })
  symlinkSync(ROOT, join(folder, 'node_modules', 'solhost'))
  symlinkSync('../solhost/bin/solhost.js', join(folder, 'node_modules', '.bin', 'solhost'))
  writeFileSync(join(folder, 'package.json'), '{"name": "work", "private": true}')
}

test.skipIf(browserPath === undefined || tmuxPath === undefined)(
  'a new user can deploy a version with its own login page with fewer than ten commands, each of which shows the next',
  { timeout: 180_000 },
  async () => {
    using work = temporaryFolder()
    using home = temporaryFolder()
    installInto(work.path)
    await using host = await openTerminal({
      cwd: work.path,
      env: { PORT: '0', ADMIN_PORT: '0', PLATFORM_HOME: home.path },
    })
    await using author = await openTerminal({ cwd: work.path })
    let commands = 0
    const shop = (file: string) => join(work.path, 'shop', file)
    function edit(file: string, from: string, to: string): void {
      const before = readFileSync(shop(file), 'utf8')
      expect(before).toContain(from)
      writeFileSync(shop(file), before.replace(from, to))
    }
    async function run(line: string): Promise<string> {
      commands++
      const { code, screen } = await author.run(line)
      expect([line, code, screen]).toEqual([line, 0, screen])
      expect([line, screen]).toEqual([line, expect.stringMatching(/^ *Next:/m)])
      return screen
    }

    expect(await run('npx solhost init shop')).toContain('shop/solution.json')
    expect(await run('npx solhost check shop')).toContain('shop 1.0.0: 0 errors, 0 warnings')
    expect(await run('npx solhost test shop')).toMatch(/\d+ passed/)
    expect(await run('npx solhost login-template shop')).toContain('Set "authenticator" to "DEFAULT" in solution.json')
    edit('solution.json', '"NONE"', '"DEFAULT"')
    edit('media/login.html', '<h1', '<p id="greeting">Welcome to the shop of Anna</p>\n<h1')

    commands++
    await host.type('npx solhost start')
    const started = await host.until('Press Ctrl+C to stop it.')
    const [, url = ''] = /Solhost is running at (http:\S+)\//.exec(started) ?? []
    const { adminPassword: password } = readPrinted(started)
    expect(started).toContain('solhost deploy')

    const use = `SOLHOST_PASSWORD=${password}`
    const deployed = await run(`${use} npx solhost deploy shop ${url} --user admin`)
    const [, address = ''] = /(http:\S+\/solution\/shop\/\S*)/.exec(deployed) ?? []
    const added = await run(`${use} npx solhost users add anna ${url} --user admin --permissions Users`)
    const [, first = ''] = /password +(\S+)/.exec(added) ?? []
    expect(commands).toBeLessThan(10)

    const browser = await sharedBrowser()
    try {
      const page = await browser.newPage()
      await page.goto(address)
      expect(await page.textContent('#greeting')).toBe('Welcome to the shop of Anna')
      const signIn = async (secret: string) => {
        await page.fill('[name=username]', 'anna')
        await page.fill('[name=password]', secret)
        await page.click('[type=submit]')
      }
      await signIn(first)
      await page.fill('#new', PASSWORD)
      await page.fill('#repeat', PASSWORD)
      await page.click('[type=submit]')
      await signIn(PASSWORD)
      // The whole text, so that a failure shows what the page says instead.
      await expect.poll(() => page.innerText('body')).toContain('Enter your name and press the button.')
      expect(await page.textContent('form[data-form] h1')).toContain('Welcome')
    } finally {
      await closeContexts(browser)
    }
    await host.press('C-c')
    await host.until(/\n\[\d+\]\$\s*$/)
  },
)
