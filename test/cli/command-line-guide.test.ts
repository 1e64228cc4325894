import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EXIT_CODES } from '../../base/terminal/command.ts'
import { helpOf, helpOfAll } from '../../cli/help.ts'
import { allCommands } from '../../cli/main.ts'

const COMMANDS = await allCommands()
const GUIDE = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8')

test('docs/command-line.md lists every exit code that the commands use', () => {
  const table = /\| code \| meaning \|\n\|---\|---\|\n((?:\|.*\|\n)+)/.exec(GUIDE)?.[1]
  expect(table).toBe(
    Object.values(EXIT_CODES)
      .map(({ code, what }) => `| ${code} | ${what} |\n`)
      .join(''),
  )
})

test('docs/command-line.md lists every command with its arguments, and every option', () => {
  const rows = [...GUIDE.matchAll(/^\| `([a-z-]+(?: [a-z-]+)?)((?: [<[][a-z]+[>\]])*)` \|/gm)].map(
    ([, name, words]) => `${name}${words}`,
  )
  const commands = Object.entries(COMMANDS).map(([name, { arguments: all }]) =>
    [name, ...Object.entries(all).map(([word, one]) => (one.default === undefined ? `<${word}>` : `[${word}]`))].join(
      ' ',
    ),
  )
  expect(rows).toEqual(commands)
  const options = Object.values(COMMANDS).flatMap((command) => Object.entries(command.options))
  for (const [name, { short }] of options) {
    expect(GUIDE).toMatch(new RegExp(`\`[^\`]*--${name}\\b`))
    if (short !== undefined) expect(GUIDE).toContain(`\`-${short}\``)
  }
})

test('help: every command describes its arguments and options, and no line is too wide', () => {
  for (const [name, command] of Object.entries(COMMANDS)) {
    const help = helpOf(name, command)
    for (const word of Object.keys(command.arguments)) expect(help).toMatch(new RegExp(`^ {2}${word} +\\S`, 'm'))
    for (const option of Object.keys(command.options))
      expect(help).toMatch(new RegExp(`^ {2}(-., )?--${option}( <\\w+>)? +\\S`, 'm'))
    // The help for `start` is exempt: it lists the settings' descriptions, whose lines may be longer.
    if (name !== 'start') expect(help.split('\n').filter((line) => line.length > 120)).toEqual([])
    // Two spaces at least, so that the descriptions are a column.
    expect(helpOfAll(COMMANDS)).toContain(`  ${name}  `)
  }
})
