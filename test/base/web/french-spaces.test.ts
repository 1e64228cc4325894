import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT } from '../../../docs/words/texts.ts'

test('French texts: a line can’t break before ; : ! ? or inside guillemets', () => {
  const files = globSync('{base,host,control-center,solutions}/**/fr.json', { cwd: ROOT })
  expect(files.length).toBeGreaterThan(10)
  const breakable = files.flatMap((file) =>
    Object.entries(JSON.parse(readFileSync(`${ROOT}/${file}`, 'utf8')) as Record<string, string>)
      .filter(([, text]) => /« | »| [;!?](\s|$)|\S :(\s|$)/.test(text))
      .map(([key]) => `${file}: ${key}`),
  )
  expect(breakable).toEqual([])
})
