import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'

/** Debian's Chromium, or undefined where it is not installed: tests that need it are skipped there. */
export const browserPath = existsSync('/usr/bin/chromium') ? '/usr/bin/chromium' : undefined

/** A browser without a window that asks nothing of the network by itself. The caller closes it. */
export function launchBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new TypeError('there is no Chromium to launch: skip the test')
  return chromium.launch({
    executablePath: browserPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Every violation that axe finds on the page, as 'rule: element', best practices included. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
  })
}

const NAME_OF_FOCUS = `(() => {
  const element = document.activeElement
  if (element === document.body) return null
  if (element instanceof HTMLInputElement) return element.id
  return element.ariaLabel ?? (element.querySelector('.choice-title') ?? element).textContent.trim()
})()`

/** What the Tab key reaches until it leaves the page: the id of an input, the name of a link or button. */
export async function tabOrder(page: Page): Promise<string[]> {
  const reached: string[] = []
  while (reached.length < 20) {
    await page.keyboard.press('Tab')
    const name = await page.evaluate<string | null>(NAME_OF_FOCUS)
    if (name === null) return reached
    reached.push(name)
  }
  return reached
}
