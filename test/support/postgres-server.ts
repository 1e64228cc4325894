import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSharedServer, PASSWORD, type ServerProgram, startServer, type TestServer } from './database-server.ts'

const VERSIONS = '/usr/lib/postgresql'

/**
 * The folder with the programs of Debian's PostgreSQL, or undefined if it is not installed. Tests that need it are then
 * skipped.
 */
export const postgresPath = existsSync(VERSIONS)
  ? readdirSync(VERSIONS)
      .map((version) => join(VERSIONS, version, 'bin'))
      .findLast((folder) => existsSync(join(folder, 'postgres')))
  : undefined

/** Returns this worker's PostgreSQL server. Test files that don't need a separate server share it. */
export const sharedPostgres = createSharedServer((folder) => startPostgres({ folder }))

/**
 * Starts a PostgreSQL server. Its administrator is `postgres`, with a password. The caller stops the server.
 * @param isDurable whether a commit waits for the disk; true for realistic measurements
 */
export function startPostgres(options: { isDurable?: boolean; folder?: string } = {}): Promise<TestServer> {
  const programs = postgresPath
  if (programs === undefined) throw new TypeError('there is no PostgreSQL to start: skip the test')
  const program: ServerProgram = {
    username: 'postgres',
    account: 'postgres',
    prepare({ path, run }) {
      writeFileSync(join(path, 'password'), PASSWORD, { mode: 0o644 })
      const access = ['--auth=scram-sha-256', `--pwfile=${path}/password`, '--username=postgres']
      // Use a language-specific collation, like some operators' servers. The platform must not depend on the collation.
      const order = ['--locale=C', '--locale-provider=icu', '--icu-locale=en']
      run(join(programs, 'initdb'), [`${path}/data`, ...access, '--encoding=UTF8', ...order, '--no-sync'])
    },
    command: (path, port) => [
      join(programs, 'postgres'),
      '-D',
      `${path}/data`,
      ...settings({
        port,
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        fsync: options.isDurable ? 'on' : 'off',
      }),
    ],
    ready: /ready to accept connections/,
  }
  return startServer(program, options.folder)
}

function settings(values: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
