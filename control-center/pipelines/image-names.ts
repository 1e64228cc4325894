import { z } from '../../runtime/zod.ts'

/* Image names in the syntax of registries and builders (OCI distribution specification, "Pulling manifests"). */

const PART = '[a-z0-9]+(?:(?:\\.|_{1,2}|-+)[a-z0-9]+)*'
const REPOSITORY = new RegExp(`^${PART}(?:/${PART})*$`)
const HOST = '[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?'
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
const IMAGE = new RegExp(`^(?:${HOST}/)?${PART}(?:/${PART})*(?::${TAG})?(?:@sha256:[0-9a-f]{64})?$`)

/**
 * Sources that builders accept in place of a registry. They are rejected, because they could expose other users' files
 * and images.
 */
const TRANSPORT =
  /^(?:atomic|containers-storage|dir|docker|docker-archive|docker-daemon|oci|oci-archive|ostree|sif|tarball):/

/** The name prefix of images that pipeline runs build on this machine. Each run removes its own images. */
export const RUN_IMAGES = 'localhost/solhost-run-'

/** A repository name: `<docker-repo-name>` in the deployment procedure. */
export const RepositoryName = z
  .string()
  .trim()
  .max(200)
  .regex(REPOSITORY, 'must be one or more parts separated by "/", each of lowercase letters, digits, ".", "_" and "-"')

/** The base image that the solution is added to. */
export const BaseImage = z
  .string()
  .trim()
  .max(300)
  .regex(IMAGE, 'must be the name of an image, such as registry.example.org/solhost:1.0')
  .refine((name) => !name.startsWith(RUN_IMAGES), 'must not be an image built by a pipeline')
  .refine((name) => !TRANSPORT.test(name), 'must include the registry, such as registry.example.org/name')

/** Converts a version into an image tag. Tags can't contain "+" and some other characters. */
export function tagOf(version: string): string {
  const tag = version.replace(/[^A-Za-z0-9_.-]/g, '-').replace(/^[.-]+/, '')
  return tag.slice(0, 128) || 'untagged'
}
