import { isLoopback } from '../../base/config/host-names.ts'
import { MAKE_UNIX_FOLDER, UNIX_FOLDER } from '../environments/satellite-commands.ts'
import { isElastic } from '../registries/elastic.ts'
import type { Registry } from '../registries/registries.ts'
import type { Pipeline } from './pipelines.ts'

/** The operating systems for which the Docker Information dialog shows commands. */
export const SYSTEMS = ['unix', 'windows'] as const
export type System = (typeof SYSTEMS)[number]

/** The commands for one operating system. */
export type Commands = {
  /** The path of the container runtime's `config.json`. */
  readonly configFile: string
  readonly logIn: string
  readonly pull: string
  /** The command that creates the folder that `run` mounts. */
  readonly folder: string
  readonly run: string
}

/**
 * The procedure for deploying a package's image, with namespace, region and repository filled in, for the Docker
 * Information dialog.
 */
export type DockerInformation = {
  readonly registryHost: string
  readonly namespaceName: string
  readonly regionName: string
  readonly dockerRepoName: string
  readonly image: string
  /**
   * Whether the registry's provider has a tool that prints passwords for the login; otherwise, users enter a username
   * and password.
   */
  readonly isElastic: boolean
  /** The content of `config.json`; null if the registry needs no entry. */
  readonly config: string | null
  readonly commands: Readonly<Record<System, Commands>>
}

const WINDOWS_FOLDER = 'C:\\solhost'

export type InformationParts = {
  readonly registry: Pick<Registry, 'host' | 'region' | 'namespace'>
  readonly pipeline: Pick<Pipeline, 'repository'>
  /** The control center's URL for Satellites. */
  readonly cloudUrl: string
  /** The public key of desired state signatures; null if unknown. */
  readonly cloudPublicKey: string | null
}

export function dockerInformation(parts: InformationParts): DockerInformation {
  const { registry, pipeline } = parts
  const { host, region, namespace } = registry
  const image = imageOf(registry, pipeline, 'latest')
  const elastic = isElastic(host)
  return {
    registryHost: host,
    namespaceName: namespace,
    regionName: region,
    dockerRepoName: pipeline.repository,
    image,
    isElastic: elastic,
    config: elastic ? JSON.stringify({ credHelpers: { [host]: 'ecr-login' } }, null, 2) : null,
    commands: {
      unix: {
        configFile: '~/.docker/config.json',
        logIn: elastic
          ? `aws ecr get-login-password --region ${region} | docker login --username AWS --password-stdin ${host}`
          : `docker login ${host}`,
        pull: `docker pull ${image}`,
        folder: MAKE_UNIX_FOLDER,
        run: runCommand(parts, image, ' \\\n  ', UNIX_FOLDER),
      },
      windows: {
        configFile: '%USERPROFILE%\\.docker\\config.json',
        logIn: elastic
          ? `(Get-ECRLoginCommand -Region ${region}).Password | docker login --username AWS --password-stdin ${host}`
          : `docker login ${host}`,
        pull: `docker pull ${image}`,
        folder: `New-Item -ItemType Directory -Force ${WINDOWS_FOLDER}`,
        run: runCommand(parts, image, ' `\n  ', WINDOWS_FOLDER),
      },
    },
  }
}

/** The image's name: `{registry_host}/<namespace-name>/<docker-repo-name>:{tag}` */
export function imageOf(
  { host, namespace }: Pick<Registry, 'host' | 'namespace'>,
  { repository }: Pick<Pipeline, 'repository'>,
  tag: string,
): string {
  return `${host}/${namespace}/${repository}:${tag}`
}

/**
 * @param next the line continuation character
 * @param folder the folder on the machine that is mounted for the platform's files
 */
function runCommand({ cloudUrl, cloudPublicKey }: InformationParts, image: string, next: string, folder: string) {
  const environment = [
    ['ENVIRONMENT', 'onprem'],
    ['PLATFORM_DATABASE', 'alpha'],
    ['DB_ALPHA_SERVER', 'database-server'],
    ['DB_ALPHA_PORT', '5432'],
    ['DB_ALPHA_PASSWORD', 'database-password'],
    ['REMOTE_ENVIRONMENT_TOKEN', 'token-of-the-Credentials-page'],
    ['CLOUD_URL', cloudUrl],
    ...(cloudPublicKey === null ? [] : [['CLOUD_PUBLIC_KEY', cloudPublicKey]]),
  ]
  return [
    'docker run --detach',
    '-p 8080:8080',
    ...environment.map(([name, value]) => `-e ${name}=${value}`),
    `-v ${folder}:/usr/local/platform`,
    image,
  ].join(next)
}

/** Whether pipelines use the registry without TLS. This is the case on loopback, for tests and trials. */
export function hasNoTls(host: string): boolean {
  return isLoopback(host.replace(/:\d+$/, ''))
}
