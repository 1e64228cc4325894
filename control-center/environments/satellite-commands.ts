import { isLoopback } from '../../base/config/host-names.ts'

/**
 * The UID that the image runs as (Dockerfile). A folder that Docker creates belongs to root, so the host couldn't write
 * to it.
 */
const ACCOUNT = 10001
/** The folder on the server that the container mounts for the platform's files. */
export const UNIX_FOLDER = '/srv/solhost'

/** The command that creates `UNIX_FOLDER` with the required owner. */
export const MAKE_UNIX_FOLDER = `sudo install -d -m 0700 -o ${ACCOUNT} -g ${ACCOUNT} ${UNIX_FOLDER}`

export type SatelliteNeeds = {
  /** The control center's URL for Satellites. */
  readonly cloudUrl: string
  /** The public key of desired state signatures. */
  readonly publicKey: string
  /** The control center's version. The commands install a Satellite of the same version. */
  readonly version: string
}

/**
 * The commands that start a Satellite. Each consists of the text before the token and the text after it, so that a page
 * can insert a new token. The same options are in docs/satellite.md.
 */
export function satelliteCommands({ cloudUrl, publicKey, version }: SatelliteNeeds) {
  // A container can reach the machine's loopback address only through the host network.
  const network = isLoopback(new URL(cloudUrl).hostname) ? '--network host' : '-p 8080:8080'
  const variables = [`CLOUD_URL=${cloudUrl}`, `CLOUD_PUBLIC_KEY=${publicKey}`]
  return {
    docker: {
      before: [
        MAKE_UNIX_FOLDER,
        'docker run --detach --name solhost --restart unless-stopped \\',
        `  ${network} -v ${UNIX_FOLDER}:/usr/local/platform \\`,
        '  -e ENVIRONMENT=onprem \\',
        '  -e REMOTE_ENVIRONMENT_TOKEN=',
      ].join('\n'),
      after: [
        ' \\',
        ...variables.map((variable) => `  -e ${variable} \\`),
        '  --read-only --cap-drop=all --security-opt no-new-privileges \\',
        `  solhost/satellite:${version}`,
      ].join('\n'),
    },
    npm: {
      before: 'ENVIRONMENT=onprem \\\nREMOTE_ENVIRONMENT_TOKEN=',
      after: [' \\', ...variables.map((variable) => `${variable} \\`), 'npx solhost start'].join('\n'),
    },
  }
}
