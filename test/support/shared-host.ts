import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { startTestHost, type TestHost } from './host.ts'
import { runFolder } from './run-folder.ts'

const hosts = new Map<string, Promise<Omit<TestHost, 'stop'>>>()

/**
 * Returns this worker's host with these properties. The worker's test files share it, so they must not stop it. They
 * may change only what they have added, under unique names. The host stops when the worker exits, and its folder is
 * removed after the test run.
 */
export function sharedHost(properties: Record<string, string> = {}): Promise<Omit<TestHost, 'stop'>> {
  const key = JSON.stringify(Object.entries(properties).sort())
  const running = hosts.get(key) ?? startTestHost(properties, { home: mkdtempSync(join(runFolder(), 'home-')) })
  hosts.set(key, running)
  return running
}
