import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  addAuthenticator,
  browserPath,
  closeContexts,
  complaintsOf,
  type Device,
  launchBrowser,
  lookOf,
  SOUND_LOOK,
  sharedBrowser,
} from '../support/browser.ts'
import { type CertificateFolder, certificateFolder } from '../support/certificates.ts'
import { button as actionButton, addClientSolution, label } from '../support/client-solution.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addDefaultSolution, addUser, askAdmin, PASSWORD } from '../support/users.ts'

type Host = Awaited<ReturnType<typeof sharedHost>>

let browser: Browser

/** An author's login page with a button for passkeys. */
const AUTHORS_PAGE = `<!DOCTYPE html>
<html lang="en"><head><title>Shop</title></head><body><h1>Our shop</h1>
<form method="post" name="login_form"><p id="errorlabel" role="alert">No.</p>
<label>Name <input type="text" name="username" autocomplete="username"></label>
<label>Password <input type="password" name="password" autocomplete="current-password"></label>
<button type="submit">Enter</button><button type="button" id="passkey" hidden>With a passkey</button></form>
</body></html>`

/** Opens a browser profile with a virtual authenticator for passkeys. */
async function open(of: Browser, device: Device = {}, more: BrowserContextOptions = {}) {
  const context = await of.newContext(more)
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  return {
    page,
    device: await addAuthenticator(page, device),
    complaints: () => complaints.filter((line) => !/status of (401|404)|can escape its sandboxing/.test(line)),
    [Symbol.asyncDispose]: () => context.close(),
  }
}

/** Sets whether the authenticator responds to requests, as if the user touched it immediately. */
async function touches(device: { devTools: CDPSession; authenticatorId: string }, enabled: boolean): Promise<void> {
  const { devTools, authenticatorId } = device
  await devTools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()

async function enterPassword(page: Page, username: string): Promise<void> {
  await page.locator('input[name=username]').pressSequentially(username)
  await page.locator('input[name=password]').pressSequentially(PASSWORD)
  await page.keyboard.press('Enter')
}

/** Creates a passkey on the account page, and saves the recovery codes. */
async function createPasskey(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Account', exact: true }).click()
  await button(page, 'Add a passkey').click()
  await button(page, 'Create a passkey').click()
  await button(page, 'I have saved them').click()
  await heading(page, 'Your account')
}

async function signOut(page: Page, index: string): Promise<void> {
  await page.goto(index)
  await button(page, 'Sign out').click()
  await heading(page, 'You are signed out')
}

const signedIn = (page: Page) => button(page, 'Sign out').waitFor()

describe.skipIf(browserPath === undefined)('passkeys in a browser', () => {
  let host: Host
  let index: string
  beforeAll(async () => {
    browser = await sharedBrowser()
    host = await sharedHost()
    index = `http://localhost:${new URL(host.url).port}/solution/pk-browser/index.html`
    await addDefaultSolution(host, 'pk-browser')
  })
  afterAll(() => closeContexts(browser))

  test('a user creates a passkey, and signs in with it through the suggestions at the username, and with the button', async () => {
    await addUser(host, 'pkb-anna')
    await using opened = await open(browser, {}, { viewport: { width: 1280, height: 640 } })
    const { page, device } = opened
    await touches(device, false)
    await page.goto(index.replace('localhost', '127.0.0.1'))
    expect(await page.isVisible('#passkey')).toBe(false)
    await page.goto(index)
    expect(await page.isVisible('#passkey')).toBe(true)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    expect(await page.getAttribute('#username', 'autocomplete')).toBe('username webauthn')
    await enterPassword(page, 'pkb-anna')
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await button(page, 'Add a passkey').click()
    await heading(page, 'Add a passkey')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await touches(device, true)
    await button(page, 'Create a passkey').click()
    await button(page, 'I have saved them').click()
    await page
      .getByRole('table', { name: 'Second factor' })
      .getByText(/^Passkey/)
      .waitFor()
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await button(page, 'Add a passkey').click()
    await button(page, 'Create a passkey').click()
    await page.getByText('This device already has a passkey for your account').waitFor()

    // The browser offers the passkey as soon as the page is open.
    await signOut(page, index)
    await page.goto(index)
    await signedIn(page)
    await signOut(page, index)

    await touches(device, false)
    await page.goto(index)
    await enterPassword(page, 'pkb-anna')
    await heading(page, 'Confirm that it’s you')
    expect(await page.getByLabel('Code from your authenticator app').count()).toBe(0)
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await touches(device, true)
    await button(page, 'Use a passkey').press('Enter')
    await signedIn(page)
    expect(opened.complaints()).toEqual([])
  })

  test('if a request is refused, a message says so, and the button can be pressed again', async () => {
    await addUser(host, 'pkb-bert')
    await using opened = await open(browser)
    const { page, device } = opened
    await page.goto(index)
    await enterPassword(page, 'pkb-bert')
    await createPasskey(page)
    await signOut(page, index)
    await touches(device, false)
    await page.goto(index)
    await enterPassword(page, 'pkb-bert')
    await device.devTools.send('WebAuthn.setUserVerified', { ...idOf(device), isUserVerified: false })
    await device.devTools.send('WebAuthn.clearCredentials', idOf(device))
    await touches(device, true)
    await button(page, 'Use a passkey').click()
    await page.getByText('No passkey was used. Try again, or use another method.').waitFor()
    expect(await button(page, 'Use a passkey').isEnabled()).toBe(true)
  })

  test.each([
    ['an older security key', { protocol: 'u2f', verifies: false }],
    ['a device without a PIN or fingerprint', { verifies: false }],
  ] as const)('%s can be used as a second step after the password, but not as the first step', async (name, kind) => {
    const username = `pkb-key-${name.length}`
    await addUser(host, username)
    await using opened = await open(browser, kind)
    const { page } = opened
    await page.goto(index)
    await enterPassword(page, username)
    await createPasskey(page)
    await signOut(page, index)
    await page.goto(index)
    // The request on the login page requires user verification, so the authenticator doesn't respond to it.
    await button(page, 'Sign in').waitFor()
    await enterPassword(page, username)
    await button(page, 'Use a passkey').click()
    await signedIn(page)
    expect(opened.complaints()).toEqual([])
  })

  test('where a policy requires a second step, a user creates a passkey instead of setting up an app', async () => {
    await addDefaultSolution(host, 'pk-required')
    await askAdmin(host, 'PUT', 'solutions/pk-required/sign-in-policy', { level: 'required', graceDays: 3 })
    await addUser(host, 'pkb-cora')
    await using opened = await open(browser, {}, { viewport: { width: 1280, height: 640 } })
    const { page } = opened
    await page.goto(index.replace('pk-browser', 'pk-required'))
    await enterPassword(page, 'pkb-cora')
    await heading(page, 'Set up a second factor')
    expect(await lookOf(page)).toEqual(SOUND_LOOK)
    await button(page, 'Create a passkey').click()
    await button(page, 'I have saved them').click()
    await signedIn(page)
    expect(opened.complaints()).toEqual([])
  })

  test('a passkey confirms an action in a client’s dialog', async () => {
    await addClientSolution(host, 'pk-dialog', {
      elements: [label('wiped'), actionButton('wipe')],
      script: `
        let count = 0
        function wipe() {
          if (!security.confirm('Delete all orders', { every: true })) return
          count += 1
          forms.main.elements.wiped.label = String(count)
        }`,
      manifest: { authenticator: 'DEFAULT' },
    })
    await addUser(host, 'pk-wim')
    await using opened = await open(browser)
    const { page } = opened
    const address = index.replace('pk-browser', 'pk-dialog')
    await page.goto(address)
    await enterPassword(page, 'pk-wim')
    await page.waitForSelector('form[data-form]')
    await page.goto(address.replace('index.html', 'account'))
    await button(page, 'Add a passkey').click()
    await button(page, 'Create a passkey').click()
    await button(page, 'I have saved them').click()
    await page.goto(address)
    await page.click('[id="e-main-wipe.input"]:enabled')
    const frame = page.frameLocator('dialog.confirm[open] iframe')
    await frame.getByRole('button', { name: 'Use a passkey', exact: true }).click()
    await page.locator('#e-main-wiped', { hasText: '1' }).waitFor()
    await page.waitForSelector('dialog', { state: 'detached' })
    expect(opened.complaints()).toEqual([])
  })

  test('without JavaScript, the page says that passkeys need it, and a recovery code still works', async () => {
    await using opened = await open(browser, {}, { viewport: { width: 1280, height: 640 } })
    await addUser(host, 'pkb-dora')
    await opened.page.goto(index)
    await enterPassword(opened.page, 'pkb-dora')
    await opened.page.getByRole('link', { name: 'Account', exact: true }).click()
    await button(opened.page, 'Add a passkey').click()
    await button(opened.page, 'Create a passkey').click()
    const code = await opened.page.locator('#recovery-codes code').first().innerText()
    await using plain = await open(browser, {}, { javaScriptEnabled: false })
    await plain.page.goto(index)
    await enterPassword(plain.page, 'pkb-dora')
    await heading(plain.page, 'Confirm that it’s you')
    expect(await plain.page.innerText('noscript')).toContain('Passkeys need JavaScript')
    expect(await button(plain.page, 'Use a passkey').count()).toBe(0)
    await plain.page.getByRole('link', { name: 'Use a recovery code' }).click()
    await plain.page.getByLabel('Recovery code').pressSequentially(code)
    await plain.page.keyboard.press('Enter')
    await signedIn(plain.page)
  })

  test('where each solution has its own origin, an author’s page offers passkeys, and another solution’s passkeys don’t work', async () => {
    const own = await sharedHost({ SOLUTION_ORIGIN: 'http://{name}.localhost' })
    for (const name of ['pk-one', 'pk-two'])
      await addDefaultSolution(own, name, {}, { 'media/login.html': AUTHORS_PAGE })
    await addUser(own, 'pkb-elke')
    const { port } = new URL(own.url)
    const at = (name: string) => `http://${name}.localhost:${port}/solution/${name}/index.html`
    await using opened = await open(browser)
    const { page } = opened
    await page.goto(at('pk-one'))
    await enterPassword(page, 'pkb-elke')
    await createPasskey(page)
    await signOut(page, at('pk-one'))
    // The browser offers the passkey as soon as the author's page is open.
    await page.goto(at('pk-one'))
    await signedIn(page)
    await signOut(page, at('pk-one'))
    // In browsers that don't suggest passkeys, the user has to press the button.
    await page.addInitScript('delete PublicKeyCredential.isConditionalMediationAvailable')
    await page.goto(at('pk-one'))
    await button(page, 'With a passkey').click()
    await signedIn(page)
    // At the other address, the same user has no second factor, and the passkey isn't offered.
    await page.goto(at('pk-two'))
    await enterPassword(page, 'pkb-elke')
    await signedIn(page)
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByText('works at pk-one.localhost').waitFor()
    expect(opened.complaints()).toEqual([])
  })

  test('with TLS and PASSKEY_DOMAIN, one passkey works in all solutions', async () => {
    using folder = await certificateFolder()
    await folder.issue('site')
    const secure = await sharedHost({
      SOLUTION_ORIGIN: 'https://{name}.apps.example.test',
      PASSKEY_DOMAIN: 'apps.example.test',
      TRUSTED_PROXIES: '127.0.0.1',
    })
    const proxy = await startTlsProxy(folder, Number(new URL(secure.url).port))
    const { publicKey } = new X509Certificate(folder.bytes('site.pem'))
    const spki = createHash('sha256')
      .update(publicKey.export({ type: 'spki', format: 'der' }))
      .digest('base64')
    const trusting = await launchBrowser({
      args: [
        `--host-resolver-rules=MAP *.apps.example.test:443 127.0.0.1:${proxy.port}`,
        `--ignore-certificate-errors-spki-list=${spki}`,
      ],
    })
    try {
      for (const name of ['one', 'two']) await addDefaultSolution(secure, name)
      await addUser(secure, 'gust')
      const at = (name: string) => `https://${name}.apps.example.test/solution/${name}/index.html`
      await using opened = await open(trusting)
      await opened.page.goto(at('one'))
      await enterPassword(opened.page, 'gust')
      await createPasskey(opened.page)
      await opened.page.goto(at('two'))
      await signedIn(opened.page)
      expect(opened.complaints()).toEqual([])
    } finally {
      await trusting.close()
      await proxy.stop()
    }
  })
})

/** Terminates TLS in front of a host, as an operator's proxy does. */
async function startTlsProxy(folder: CertificateFolder, target: number) {
  const server = createServer({ cert: folder.bytes('site.pem'), key: folder.bytes('site-key.pem') }, (from, to) => {
    const headers = { ...from.headers, 'x-forwarded-proto': 'https', 'x-forwarded-host': from.headers.host }
    const options = { host: '127.0.0.1', port: target, path: from.url, method: from.method, headers }
    const forwarded = request(options, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    })
    forwarded.on('error', () => to.destroy())
    from.pipe(forwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function idOf({ authenticatorId }: { readonly authenticatorId: string }) {
  return { authenticatorId }
}
