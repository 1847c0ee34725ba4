# A container with the command solve and the library.
#
#   docker build -t tessera .
#   docker run --rm -v "$PWD:/data" -w /data tessera A.mtx
#
# For GPUs, with the images of NVIDIA (CUDA 12.4 or later; the machine needs its container toolkit):
#
#   docker build -t tessera:cuda --build-arg BUILD=nvidia/cuda:13.0.1-devel-ubuntu24.04 \
#     --build-arg RUN=nvidia/cuda:13.0.1-base-ubuntu24.04 --build-arg ARCHITECTURES="80;90" .
#   docker run --rm --gpus all -v "$PWD:/data" -w /data tessera:cuda A.mtx --device cuda
ARG BUILD=debian:13
ARG RUN=debian:13-slim

FROM ${BUILD} AS build
ARG ARCHITECTURES=90
COPY . /tessera
WORKDIR /tessera
RUN scripts/install-dependencies.sh dpkg-dev file
RUN cmake --preset release -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_EXAMPLES=OFF -DTESSERA_STATIC_RUNTIME=ON \
      "-DTESSERA_CUDA_ARCHITECTURES=${ARCHITECTURES}" && \
    cmake --build --preset release --parallel && \
    cd build/release && cpack -G DEB -B /package

FROM ${RUN}
COPY --from=build /package/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && \
    rm -rf /tmp/*.deb /var/lib/apt/lists/* && solve --poisson2d 10
ENTRYPOINT ["solve"]
