import { expect, test } from 'vitest'
import { satelliteCommands } from '../../control-center/environments/satellite-commands.ts'

const dockerOf = (cloudUrl: string) => satelliteCommands({ cloudUrl, publicKey: 'key', version: '1.2.3' }).docker.before

test('the container publishes its port, unless it runs on the control center’s machine and uses the machine’s network', () => {
  expect(dockerOf('https://center.example.org')).toContain('-p 8080:8080')
  for (const url of ['http://127.0.0.1:8090', 'http://localhost:8090', 'http://[::1]:8090']) {
    expect(dockerOf(url)).toContain('--network host')
  }
})
