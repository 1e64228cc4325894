import type { Page } from 'playwright-core'
import type { Block } from '../../support/guides/blocks.ts'
import { openClone, typeCommand } from '../../support/guides/clone.ts'
import { followGuide } from '../../support/guides/follow.ts'
import { readPrinted } from '../../support/printed-start.ts'
import type { Album } from './page-album.ts'
import { addAdminPages, endWithCtrlC, FORM, greet, isOf, signIn, signInToAdmin } from './visits.ts'

const LIST = '#e-orders-list'

/** Follows README.md: starts a host, signs in to the example, creates and deploys a solution. */
export async function followReadme(album: Album): Promise<void> {
  using clone = await openClone()
  await using host = await clone.terminal()
  await using author = await clone.terminal()
  await using admin = await album.open()
  let printed = readPrinted('')
  let deployed = ''

  async function followBlock({ code }: Block): Promise<void> {
    // Skip this command, which would run all tests.
    if (code.includes('npm test')) return
    if (code.startsWith('npm ci && npm start')) {
      await host.type(code.replace('npm ci && ', '').trim())
      const screen = await host.until('Press Ctrl+C to stop it.')
      album.addScreen('npm-start', screen)
      printed = readPrinted(screen)
      return
    }
    for (const command of code.trim().split('\n')) {
      const name = /solhost (\S+)/.exec(command)?.[1] ?? 'command'
      const screen = await typeCommand(author, clone.here(command), printed.adminPassword)
      album.addScreen(`readme-${name}`, screen)
      if (name === 'deploy') deployed = /^ +address +(\S+)$/m.exec(screen)?.[1] ?? ''
    }
  }

  async function visitSolutions(): Promise<void> {
    for (const username of ['vera', 'edith', 'marco']) {
      const user = printed.users.find((one) => one.solution === 'orders' && one.username === username)
      if (user === undefined) throw new Error(`the start printed no password for ${username}`)
      await visitOrders(album, clone.here('http://127.0.0.1:8080/'), user)
    }
    for (const name of printed.solutions.filter((one) => one !== 'orders')) {
      await using opened = await album.open()
      await opened.page.goto(`${printed.url}/solution/${name}/`)
      await album.add(opened, name, { inLanguages: true })
    }
    const access = new URL(printed.access).pathname
    await signInToAdmin(album, admin, printed)
    await addAdminPages(album, admin, (path) => !path.startsWith('/admin/solutions/') || isOf(path, 'orders'))
    await admin.page.goto(printed.access)
    await album.add(admin, access.slice(1).replaceAll('/', '-'))
  }

  async function visitDeployed(): Promise<void> {
    await using opened = await album.open()
    await greet(opened.page, deployed, 'Ada')
    await album.add(opened, 'readme-shop', { inLanguages: true, ready: FORM })
    await admin.page.goto(printed.pages)
    await album.add(admin, 'admin-with-shop')
  }

  const open = 'Open `http://127.0.0.1:8080/`, choose *Orders*, and sign in as `vera`, `edith` or `marco`.'
  await followGuide(
    'README.md',
    [
      [open, visitSolutions],
      ['`deploy` prints the URL of your solution.', visitDeployed],
    ],
    followBlock,
  )
  await endWithCtrlC(host)
}

/** Signs in to the example, looks at the list and an order, and signs out. */
async function visitOrders(
  album: Album,
  start: string,
  { username, password }: { readonly username: string; readonly password: string },
): Promise<void> {
  await using opened = await album.open()
  const { page } = opened
  const isFirst = username === 'vera'
  const enter = async (other: Page) => {
    await other.goto(new URL('/solution/orders/index.html', start).href)
    await signIn(other, username, password)
    await other.waitForSelector(`${LIST} tbody tr`)
  }
  await page.goto(start)
  if (isFirst) await album.add(opened, 'start', { inLanguages: true })
  await page.click('a.choice[href$="/solution/orders/index.html"]')
  await page.waitForSelector('#username')
  if (isFirst) {
    await album.add(opened, 'orders-sign-in', { inLanguages: true })
    await signIn(page, username, 'wrong')
    await page.waitForSelector('#errorlabel:visible')
    await album.add(opened, 'orders-sign-in-refused')
  }
  await signIn(page, username, password)
  await album.add(opened, `orders-${username}`, { inLanguages: isFirst && enter, ready: `${LIST} tbody tr` })
  await page.locator(`${LIST} tbody button`).first().click()
  await album.add(opened, `order-${username}`, { ready: '#f-order' })
  if (username === 'edith') {
    await page.getByRole('link', { name: 'Account' }).click()
    await album.add(opened, 'account', { inLanguages: enter, ready: '#sessions-title' })
    await page.getByRole('link', { name: 'Change password' }).click()
    await album.add(opened, 'change-password', { inLanguages: enter, ready: '#new' })
    await page.goBack()
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    await album.add(opened, 'set-up-app', { ready: 'main form' })
  }
  if (username !== 'marco') return
  await page.getByRole('tab').last().click()
  await album.add(opened, 'order-history', { ready: '#f-order' })
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/signed-out/)
  await album.add(opened, 'signed-out', { inLanguages: true })
  await page.goto(new URL('/nothing-here', start).href)
  await album.add(opened, 'not-found', { inLanguages: true })
}
