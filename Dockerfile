# The image of a Satellite, and of a control center (entry point `control-center` instead of `solhost start`).
# To run it, see docs/satellite.md and docs/control-center.md; to build it, see docs/satellite.md.
# The base needs Node.js 26, npm and glibc, because the prebuilt binaries of isolated-vm and argon2 need glibc.
ARG BASE_IMAGE=node:26-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /opt/solhost
COPY package.json package-lock.json .npmrc ./
# The optional packages are not installed: they contain Node.js (about 200 MB), which the base image already has. Of the
# development packages, only the bundler is installed, for the next step. The secrets are optional, for builds behind a
# mirror or a proxy. They are not stored in a layer.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
    npm pkg set "dependencies.rolldown=$(node -p 'require("./package.json").devDependencies.rolldown')" && \
    npm pkg delete optionalDependencies devDependencies && \
    npm ci --omit=dev --no-audit --no-fund --no-update-notifier
COPY . .
# Builds the programs that sandbox processes and solution databases run. Then removes the bundler and files that are not
# needed at run time: source maps, types, package archives, binaries for other systems. All JavaScript stays, even
# @azure. Solhost never uses Azure sign-ins to databases, but tedious loads the package when it starts. All files are
# readable by every user and writable only by root, regardless of their modes in the source folder.
RUN node bin/build.ts && \
    rm -r node_modules/rolldown node_modules/@rolldown node_modules/@oxc-project node_modules/.bin/rolldown && \
    npm pkg delete optionalDependencies devDependencies && \
    npm sbom --sbom-format cyclonedx --sbom-type application --omit dev >sbom.cdx.json && \
    find node_modules -type f \
      '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.tgz' ')' -delete && \
    find node_modules/isolated-vm/prebuilds -mindepth 1 -maxdepth 1 \
      ! -name "linux-$(node -p process.arch)" -exec rm -r '{}' + && \
    chmod -R u=rwX,go=rX .

FROM ${BASE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Solhost" \
      org.opencontainers.image.description="A host for solutions: applications whose scripts sign their users in" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.licenses="Apache-2.0"
# A fixed user id, so that you can make it the owner of a folder on the machine. Machines usually assign ids below 1000
# to services, and ids from 1000 to people. This id is far above both, so the user shares no limits or files with them.
# The user is created without useradd, because a small base image may not have it. No file in the image has a setuid or
# setgid bit.
RUN echo 'solhost:x:10001:10001:Solhost:/usr/local/platform:/usr/sbin/nologin' >>/etc/passwd && \
    echo 'solhost:x:10001:' >>/etc/group && \
    mkdir -p /usr/local/platform /usr/local/platform-certificate && \
    chown 10001:10001 /usr/local/platform && chmod 0750 /usr/local/platform && \
    ln -s /opt/solhost/bin/solhost.js /usr/local/bin/solhost && \
    ln -s /opt/solhost/bin/control-center.js /usr/local/bin/control-center && \
    find / -xdev -perm /6000 -type f -exec chmod a-s {} +
COPY --from=build /opt/solhost /opt/solhost
# SQLite sorts large results in temporary files. They must not be in /tmp, because in some containers it is read-only or
# uses memory. ADMIN_HOST stays 127.0.0.1, so the admin pages can be reached only from inside the container until you
# change it.
ENV HOST=0.0.0.0 \
    PLATFORM_HOME=/usr/local/platform \
    CERTIFICATE_FOLDER=/usr/local/platform-certificate \
    SQLITE_TMPDIR=/usr/local/platform
USER 10001:10001
WORKDIR /opt/solhost
VOLUME ["/usr/local/platform", "/usr/local/platform-certificate"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/opt/solhost/bin/health-check.js"]
# The launcher replaces itself with the host (bin/run-with.js), so the host is process 1 and receives the signals.
ENTRYPOINT ["solhost"]
CMD ["start"]
