# The image of a Satellite, and of a control center (entry point `control-center` in place of `solhost start`).
# docs/satellite.md and docs/control-center.md say how it is run, docs/satellite.md how it is built.
# Any base with Node.js 26 and npm, on glibc: the ready-made binaries of isolated-vm and argon2 need it.
ARG BASE_IMAGE=node:26-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /opt/solhost
COPY package.json package-lock.json .npmrc ./
# The base image contains Node.js, so the optional packages, which contain another one (about 200 MB), are left out. Of
# the packages for development, only the bundler is installed, for the next step.
# The secrets are for builds behind a mirror or a proxy. No layer contains them; both are optional.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
    npm pkg set "dependencies.rolldown=$(node -p 'require("./package.json").devDependencies.rolldown')" && \
    npm pkg delete optionalDependencies devDependencies && \
    npm ci --omit=dev --no-audit --no-fund --no-update-notifier
COPY . .
# The programs of sandbox processes and of solutions' databases; then the bundler goes, and what no Node.js reads while it
# runs: source maps, types, an archive, binaries for other systems. All JavaScript stays, that of @azure too, although
# Azure sign-ins to databases are never used: tedious loads it at its start.
# Readable for every user and writable for root alone, whatever the modes in the folder that it was built from.
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
# A fixed number, so that a folder of the machine can be given to it, and none that a machine gives to people (from 1000)
# or to its own services (below): the limits and files of those are not shared. Written without useradd, which a small
# base may lack. Nothing in the image gives more rights to who starts it.
RUN echo 'solhost:x:10001:10001:Solhost:/usr/local/platform:/usr/sbin/nologin' >>/etc/passwd && \
    echo 'solhost:x:10001:' >>/etc/group && \
    mkdir -p /usr/local/platform /usr/local/platform-certificate && \
    chown 10001:10001 /usr/local/platform && chmod 0750 /usr/local/platform && \
    ln -s /opt/solhost/bin/solhost.js /usr/local/bin/solhost && \
    ln -s /opt/solhost/bin/control-center.js /usr/local/bin/control-center && \
    find / -xdev -perm /6000 -type f -exec chmod a-s {} +
COPY --from=build /opt/solhost /opt/solhost
# SQLite sorts large results in temporary files, and /tmp may be read-only or count as memory.
# ADMIN_HOST stays 127.0.0.1: the admin pages can be reached only inside the container until you change it.
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
# The launcher becomes the host (bin/run-with.js), which so is process 1 itself and gets the signals.
ENTRYPOINT ["solhost"]
CMD ["start"]
