const ELASTIC = /^\d{12}\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/

/**
 * Whether a registry is on Amazon ECR, which exchanges access keys for login passwords that expire after a few hours.
 */
export function isElastic(host: string): boolean {
  return ELASTIC.test(host)
}

/** `<region-name>` of a registry, from its host name; '' for registries other than Amazon ECR. */
export function regionOf(host: string): string {
  return ELASTIC.exec(host)?.[1] ?? ''
}
