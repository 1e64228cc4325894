import { expect, test } from 'vitest'
import { startCli, temporaryFolder } from '../support/cli.ts'
import { openClient } from '../support/client-page.ts'
import { devSolution, startDev } from '../support/dev-process.ts'
import { openDevTools } from '../support/devtools.ts'
import { createVisitor } from '../support/http.ts'

test('dev --inspect: a debugger can attach to the scripts at the printed address, even after a save', async () => {
  using dev = await startDev(devSolution('Before'), { words: ['--inspect-port', '0'] })
  const [, socket] = await dev.printed(
    /^ {2}main +devtools:\/\/devtools\/bundled\/js_app\.html\?\S+&ws=(127\.0\.0\.1:\d+\/\S+)$/m,
  )
  const before = await openDevTools(`ws://${socket}`)
  dev.mark()
  dev.save('forms/main.js', "function greet() {\n  forms.main.elements.answer.label = 'second'\n}\n")
  expect(await before.closed).toBe(1001)
  const tools = await openDevTools(`ws://${socket}`)
  await tools.ask('Debugger.enable')
  await tools.ask('Debugger.setBreakpointByUrl', { url: 'forms/main.js', lineNumber: 1 })
  const page = await openClient(dev.url, 'shop', createVisitor(dev.url))
  const pressed = page.press('main', 'greet')
  const { callFrames } = (await tools.event('Debugger.paused')) as { callFrames: readonly unknown[] }
  expect(callFrames[0]).toMatchObject({ functionName: 'greet', location: { lineNumber: 1 } })
  await tools.ask('Debugger.resume')
  await pressed
  expect(page.text('main', 'answer')).toBe('second')
  expect(await dev.stop()).toBe(0)
})

test('dev --inspect-node: fails before anything starts if the Node.js version does not support debugging scripts', async () => {
  using folder = temporaryFolder(devSolution('Refused'))
  const words = ['dev', '.', '--inspect-node', process.execPath]
  const started = startCli(words, { cwd: folder.path, env: { PORT: '0', ADMIN_PORT: '0' } })
  expect(await started.ended).toBe(1)
  expect(started.err()).toContain(
    `${process.execPath} is Node.js ${process.versions.node}; to debug scripts, you need Node.js 24.21 or a later 24.x version.`,
  )
})
