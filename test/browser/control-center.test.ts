import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserPath, closeContexts, sharedBrowser } from '../support/browser.ts'
import { keepPicture } from '../support/client-browser.ts'
import { SERVER_START, type TestServer } from '../support/database-server.ts'
import { sharedProperties } from '../support/host-group.ts'
import { type HostProcess, startHostProcess } from '../support/host-process.ts'
import { startMailServer, type TestMailServer } from '../support/mail.ts'
import { postgresPath, sharedPostgres } from '../support/postgres-server.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf } from '../support/zip.ts'

// An end-to-end test in a real browser. It starts on an empty machine, with a control center and a Satellite as
// separate processes.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CENTER = join(ROOT, 'bin/control-center.js')
/** The screenshots that are used in the guides. README_IMAGES=write also writes them to docs/images. */
const OF_README = ['login-page', 'rollout', 'analysis']
const PASSWORD = 'quiet rivers run at night'
const USER = { name: 'anna', mail: 'anna@example.org', password: 'seven green bottles stand' }
const LINE = 'the customers were opened'

let home: string
let center: { readonly child: ChildProcess; readonly url: string }
let mails: TestMailServer
let server: TestServer | undefined
let satellite: HostProcess | undefined
let browser: Browser
let context: BrowserContext
let page: Page

async function startCenter(properties: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [CENTER], {
    env: {
      ...process.env,
      PORT: '0',
      PLATFORM_HOME: join(home, 'center'),
      SMTP_URL: mails.url,
      MAIL_FROM: 'center@example.org',
      ...properties,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const url = await waitUntil(
    () => {
      const found = /is running at (http:\/\/[^/\s]+)/.exec(output)?.[1]
      if (found === undefined) throw new Error(`the control center did not start: ${output}`)
      return found
    },
    { timeout: 30_000 },
  )
  return { child, url }
}

function end(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  child.once('exit', () => resolve())
  child.kill('SIGTERM')
  return promise
}

async function picture(name: string, of: Page = page): Promise<void> {
  const file = `control-center-${name}`
  await keepPicture(of, file)
  if (process.env.README_IMAGES === 'write' && OF_README.includes(name))
    await of.screenshot({ path: `${ROOT}docs/images/${file}.png` })
}

/** Submits a form with its button and waits for the resulting page. */
async function send(form: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.click(`${form} button[type=submit]`)])
}

const go = (path: string) => page.goto(`${center.url}/o/acme/${path}`)

const KINDS = [
  ['its own files', 'embedded'],
  ['PostgreSQL', 'alpha'],
] as const

const isMissing = browserPath === undefined || postgresPath === undefined

describe.skipIf(isMissing).each(KINDS)('a control center on %s, from an empty machine', (_title, kind) => {
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'center-play-'))
    mails = await startMailServer()
    server = kind === 'alpha' ? await sharedPostgres() : undefined
    center = await startCenter(server === undefined ? {} : sharedProperties('alpha', server))
    browser = await sharedBrowser()
    context = await browser.newContext({ viewport: { width: 1200, height: 800 } })
    page = await context.newPage()
  }, SERVER_START)

  afterAll(async () => {
    await closeContexts(browser)
    const children = [satellite?.child, center?.child].filter((child) => child !== undefined)
    await Promise.all(children.map(end))
    await Promise.all([mails?.stop(), server?.stop()])
    if (home !== undefined) rmSync(home, { recursive: true, force: true })
  })

  test('the first account and its organisation are created with the setup code', async () => {
    await page.goto(`${center.url}/`)
    await page.fill('#code', readFileSync(join(home, 'center', 'set-up-code'), 'utf8').trim())
    await page.fill('#title', 'Acme')
    await page.fill('#organisation', 'acme')
    await page.fill('#username', 'owner@example.org')
    await page.fill('#password', PASSWORD)
    await picture('set-up')
    await send('form[action="/set-up"]')
    expect(await page.locator('#refusal').allTextContents()).toEqual([])
    expect(page.url()).toBe(`${center.url}/o/acme`)
    await picture('start')
  })

  test('an environment and its token are created, and a Satellite connects with it', async () => {
    await go('environments')
    await page.fill('#name', 'plant')
    await page.selectOption('#type', 'onprem')
    await send('form[action$="/environments"]')
    await go('credentials?environment=plant')
    await page.fill('#token-name', 'first')
    await page.click('form[action$="/tokens"] button[type=submit]')
    await page.waitForSelector('#made:not([hidden])')
    const lines = (await page.textContent('#made-docker')) ?? ''
    await picture('token')
    const given = [...lines.matchAll(/-e (\w+)=(\S+)/g)].map(([, name, value]) => [name, value])
    satellite = await startHostProcess(join(home, 'satellite'), {
      ...Object.fromEntries(given),
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
      SERVLET_PASSWORD: 'admin of the plant',
    })
    await waitUntil(
      async () => {
        await go('environments/plant')
        expect(await page.textContent('main')).toContain('Connected')
      },
      { interval: 500 },
    )
    await picture('environment')
  })

  test('a package is uploaded, and its pipeline creates a build context', async () => {
    const bundle = await bundleOf(
      {
        name: 'crm',
        title: 'Customers',
        version: '1.0.0',
        authenticator: 'PLATFORM_CLOUD',
        permissions: ['Users'],
        firstForm: 'customers',
      },
      {
        'globals.js': `function onSolutionOpen() { application.output('${LINE} by ' + security.getUserName()) }`,
        'forms/customers.json': JSON.stringify({
          title: 'Customers',
          layout: [{ columns: [{ elements: [{ type: 'label', name: 'hello', label: 'Good morning' }] }] }],
        }),
        'forms/customers.js': '',
      },
    )
    const file = join(home, 'crm.zip')
    writeFileSync(file, bundle)
    await go('packages')
    await page.setInputFiles('#bundle', file)
    await page.click('form.upload button[type=submit]')
    await page.click('.upload-result:not([hidden]) a')
    await page.waitForURL(`${center.url}/o/acme/packages/crm`)
    await picture('package')
    await go('credentials')
    await addRegistry()
    await go('pipelines')
    await page.fill('#name', 'image')
    await page.fill('#repository', 'customers')
    await page.fill('#base-image', 'registry.example.org/solhost:1.0')
    await send('form[action$="/pipelines"]')
    await go('pipelines/image')
    await page.click('form[action$="/runs"] button[type=submit]')
    await page.waitForURL(/\/pipelines\/image\/runs\/1$/)
    await expect.poll(() => page.textContent('#run-state')).toContain('Done')
    await picture('pipeline-run')
    await go('packages/crm/artifacts')
    expect(await page.textContent('main')).toContain('context')
    await page.click('[data-dialog]')
    await page.waitForSelector('dialog[open]')
    const dialog = (await page.textContent('dialog[open]')) ?? ''
    for (const text of ['ecr-login', '/customers', 'ENVIRONMENT=onprem']) expect(dialog).toContain(text)
    await picture('docker-information')
  })

  test('the package is rolled out, and the Satellite runs it', async () => {
    await go('rollouts/new')
    await page.selectOption('#version', { index: 0 })
    await page.check('#target-plant')
    await send('form[action$="/rollouts/review"]')
    await page.click('form[action$="/rollouts"] button[type=submit]')
    await page.waitForURL(/\/o\/acme\/rollouts\/[\da-f-]{36}$/)
    await expect.poll(() => page.textContent('main')).toContain('Done')
    await picture('rollout')
    // 401 instead of 404 shows that the solution is deployed. No user is signed in.
    expect((await fetch(`${satellite?.url}/solution/crm/session`)).status).toBe(401)
  })

  test('a login page is designed, and the Satellite shows it', async () => {
    await go('solutions/crm/login-page')
    await page.fill('#text-default-title', 'Welcome to the plant')
    const preview = page.frameLocator('#login-preview')
    await expect.poll(() => preview.locator('h1').textContent()).toContain('Welcome to the plant')
    await page.evaluate('scrollTo(0, 0)')
    await picture('login-page')
    await Promise.all([page.waitForEvent('load'), page.click('form[data-api=PUT] button[type=submit]')])
  })

  test('a user is invited by email, chooses a password and signs in at the Satellite', async () => {
    await go('solutions/crm/users/new')
    await page.fill('#username', USER.name)
    await page.fill('#email', USER.mail)
    await page.fill('#permissions', 'Users')
    await page.click('form[action$="/users"] button[type=submit]')
    await page.waitForSelector('#made:not([hidden])')
    await expect.poll(() => mails.mails.length).toBe(1)
    const link = /https?:\/\/\S+/.exec(mails.mails[0]?.text ?? '')?.[0] ?? ''
    const guest = await browser.newContext({ viewport: { width: 1200, height: 800 } })
    const own = await guest.newPage()
    await own.goto(link)
    await own.fill('#new', USER.password)
    await own.fill('#repeat', USER.password)
    await picture('invitation', own)
    await own.click('button[type=submit]')
    await own.getByRole('heading', { name: 'Your password is set' }).waitFor()

    await own.goto(`${satellite?.url}/solution/crm/index.html`)
    expect(await own.textContent('body')).toContain('Welcome to the plant')
    await picture('sign-in-at-the-satellite', own)
    await own.fill('input[name=username]', USER.name)
    await own.fill('input[name=password]', USER.password)
    await own.click('form[name=login_form] [type=submit]')
    await expect.poll(() => own.textContent('body')).toContain('Good morning')
    await picture('signed-in-at-the-satellite', own)
    await guest.close()
  })

  test('the sign-in is shown in the charts, and its log line in the log viewer', async () => {
    const line = `${LINE} by ${USER.name}`
    await waitUntil(
      async () => {
        await go('logs?words=customers')
        expect(await page.textContent('#log-rows')).toContain(line)
      },
      { interval: 1000 },
    )
    await picture('logs')
    await waitUntil(
      async () => {
        await go('analysis?range=1h')
        expect(await page.textContent('main')).toMatch(/Accepted: 1 in total/)
      },
      { interval: 1000 },
    )
    await picture('analysis')
  })
})

async function addRegistry(): Promise<void> {
  await page.locator('#ecr summary').click()
  const form = page.locator('#ecr form')
  await form.locator('[name=name]').fill('images')
  await form.locator('[name=host]').fill('123456789012.dkr.ecr.eu-west-1.amazonaws.com')
  await form.locator('[name=namespace]').fill('acme')
  await form.locator('[name=accessKeyId]').fill('AKIAEXAMPLEEXAMPLE12')
  await form.locator('[name=secretAccessKey]').fill('not-a-real-secret-access-key-0123456789')
  await Promise.all([page.waitForEvent('load'), form.locator('button[type=submit]').click()])
}
