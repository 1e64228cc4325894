import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { browserPath, launchBrowser } from '../support/browser.ts'
import { openClient } from '../support/client-page.ts'
import { type DevProcess, devForm, devSolution, homeOf, startDev } from '../support/dev-process.ts'
import { createVisitor } from '../support/http.ts'
import { childrenOf, openFiles, sumOfSizes } from './processes.ts'
import { percentile, type Rows } from './report.ts'

const SAVES = Number(process.env.LONG_SAVES ?? 200)
/** The minimum time between two saves, in ms: long enough for a spare sandbox process to start. */
const PAUSE = 300
/** The maximum growth: the memory use in the last third of the run, divided by the use in the second third. */
const MOST_GROWTH = 1.05
/** The maximum time from a save to the new form in the browser, in ms. */
const RELOAD_WITHIN = 300
/** For a real page in Chromium: the number of saves, and the maximum time until the new form is shown, in ms. */
const BROWSER_SAVES = 40
const SEEN_WITHIN = 500

/**
 * Simulates an author who alternately saves a form and a script while a page is open. Measures the time until the page
 * shows the new version, and whether memory use grows after many saves.
 */
export async function devSaves(rows: Rows): Promise<void> {
  using dev = await startDev(devSolution('save 0'))
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  await page.enter('main', 'name', 'typed')
  const times: number[] = []
  const sizes: number[] = []
  const files: number[] = []
  const processes: number[] = []
  const versions: number[] = []
  for (let save = 1; save <= SAVES; save++) {
    const label = `save ${save}`
    await wait(PAUSE)
    const start = performance.now()
    if (save % 2 === 1) dev.save('forms/main.json', devForm(label))
    else
      dev.save(
        'forms/main.js',
        `${devSolution('')['forms/main.js']}\nfunction onShow() { forms.main.elements.heading.label = '${label}' }`,
      )
    await page.until(label, () => page.frames.some((frame) => frame.kind === 'form' && frame.html.includes(label)))
    times.push(performance.now() - start)
    // The page is updated when it gets the form frame. The host stops the previous version shortly after that.
    await dev.printed(/active after [^\n]*\n/)
    dev.mark()
    page.frames.length = 0
    sizes.push(sumOfSizes(dev.pid))
    files.push(openFiles(dev.pid))
    processes.push(childrenOf(dev.pid).length)
    versions.push(storedVersions(dev.folder))
    if (save % 2 === 0) dev.save('forms/main.js', devSolution('')['forms/main.js'] as string)
    if (save % 2 === 0) {
      await dev.printed(/active after [^\n]*\n/)
      dev.mark()
    }
  }
  const third = Math.floor(SAVES / 3)
  const [second, last] = [sizes.slice(third, 2 * third), sizes.slice(2 * third)].map((part) => percentile(part, 50))
  rows.tell('saves that a page waited for', SAVES)
  rows.atMost('from the save to the form in the page, median, ms', RELOAD_WITHIN, percentile(times, 50))
  rows.tell('the same, 95 of 100, ms', percentile(times, 95))
  rows.tell('the same, longest, ms', Math.max(...times))
  rows.tell('host and sandbox processes, proportional sizes, second third, median, MB', second as number)
  rows.tell('the same, last third, MB', last as number)
  rows.atMost(
    'last third of the second third, times 100',
    MOST_GROWTH * 100,
    ((last as number) / (second as number)) * 100,
  )
  rows.atMost(
    'open files of the host, most of the last third more than of the second',
    3,
    most(files, 2) - most(files, 1),
  )
  rows.atMost('sandbox processes, the same', 1, most(processes, 2) - most(processes, 1))
  rows.atMost('stored versions, most', 6, Math.max(...versions))
  rows.tell('files that it keeps', readdirSync(homeOf(dev.folder)).length)
  page.close()
  await inBrowser(dev, rows)
  await dev.stop()

  function most(values: readonly number[], part: number): number {
    return Math.max(...values.slice(part * third, part === 2 ? undefined : (part + 1) * third))
  }
}

/** The time from the save until Chromium has painted the new form. */
async function inBrowser(dev: DevProcess, rows: Rows): Promise<void> {
  if (browserPath === undefined) throw new TypeError('Chromium is not installed')
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    await page.goto(`${dev.url}/solution/shop/`)
    await page.waitForSelector('#e-main-heading')
    const times: number[] = []
    for (let save = 1; save <= BROWSER_SAVES; save++) {
      const label = `seen ${save}.`
      await wait(PAUSE)
      dev.mark()
      const start = performance.now()
      dev.save('forms/main.json', devForm(label))
      await page.locator('#e-main-heading', { hasText: label }).waitFor()
      times.push(performance.now() - start)
      await dev.printed(/active after [^\n]*\n/)
    }
    rows.tell('in a page of Chromium, saves', BROWSER_SAVES)
    rows.tell('from the save to what the page shows, median, ms', percentile(times, 50))
    rows.atMost('the same, 95 of 100, ms', SEEN_WITHIN, percentile(times, 95))
    rows.tell('the same, longest, ms', Math.max(...times))
  } finally {
    await browser.close()
  }
}

/** Counts the versions in the database of a running `solhost dev`. */
export function storedVersions(folder: string): number {
  const db = new DatabaseSync(join(homeOf(folder), 'platform.sqlite'), { readOnly: true })
  try {
    return (db.prepare('SELECT COUNT(*) AS count FROM solution_versions').get() as { count: number }).count
  } finally {
    db.close()
  }
}
