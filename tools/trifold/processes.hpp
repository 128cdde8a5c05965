#pragma once

namespace trifold::command {

/// Whether `solve` or `bench` was started as one of several processes by mpirun. Where --ranks is given, each process is for itself.
bool is_one_of_several(int argc, char** argv);

/// Goes on as the program trifold-mpi in this one's folder. Returns an exit status if there is none.
int become_mpi_command(char** argv);

}  // namespace trifold::command
