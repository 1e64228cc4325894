import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { browserPath, launchBrowser } from '../support/browser.ts'
import { tmuxPath } from '../support/terminal.ts'
import { followFirstSolution } from './first-hour/first-solution.ts'
import { createAlbum } from './first-hour/page-album.ts'
import { followReadme } from './first-hour/readme.ts'
import type { Rows } from './report.ts'

/**
 * Follows README.md and docs/first-solution.md as a new user does, in terminals and in Chromium, and takes pictures of
 * each page on the way.
 * @param folder for the pictures; default: a temporary folder, which isn't removed
 */
export async function firstHour(rows: Rows, folder: string | undefined): Promise<void> {
  if (browserPath === undefined) throw new TypeError('Chromium is not installed')
  if (tmuxPath === undefined) throw new TypeError('tmux is not installed')
  const pictures = folder === undefined ? mkdtempSync(join(tmpdir(), 'solhost-first-hour-')) : resolve(folder)
  process.stdout.write(`Pictures: ${pictures}\n`)
  const browser = await launchBrowser()
  try {
    const album = createAlbum(browser, pictures)
    await followReadme(album)
    await followFirstSolution(album)
    const { pages, pictures: taken, withProblems } = album.count()
    rows.tell('pages', pages)
    rows.tell('pictures', taken)
    rows.atMost('pages with problems', 0, withProblems)
  } finally {
    await browser.close()
  }
}
